// SPDX-License-Identifier: GPL-3.0-or-later
// How bytes get from rank to rank. Messages between two ranks on one channel keep their order. A
// send posts; it completes when the peer has consumed the bytes, so shared memory is read in place
// and nothing is staged. The caller leaves posted bytes alone until then.
//
// Threads: each (peer, channel) pair is used by one thread per direction; different pairs may be
// used by different threads, except where a backend says that one thread owns it. `wake`, `abort`,
// `state` and `traffic` may be called from any thread. No call blocks but `wait`.
//
// Ends: destroying a transport is leaving in good order. What it posted before can still be
// received; after that, asking a peer that left for more is a Problem that names it. So is a peer
// that died. The posted bytes of a rank may be read by peers until they are consumed or this rank's
// transport is destroyed.
//
// Peers that may be lost: where the others go on without one, each says so with `may_lose` before
// it waits for the first time. Then neither leaving nor death of that peer is a Problem: `has_lost`
// says it, nothing comes from it any more, and what is posted to it goes nowhere. Once every rank
// that talks with it has begun anew with it, another process may take its place, of the next
// generation.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace trainyard::comm {

// Names what a message is for; both ends must agree, or the receiver reports both tags.
struct Tag {
  std::uint32_t generation = 0;
  std::uint32_t step = 0;
  std::uint32_t op = 0;  // the sender's and receiver's common number of this transfer
  bool operator==(const Tag&) const = default;
};

struct Message {
  Tag tag;
  std::span<const std::byte> bytes;  // valid until released
};

// Bytes that crossed to or from one peer; counted where they are moved or, in shared memory, read.
// Lossless. Header bytes are descriptors, frame headers and acknowledgements. Once all is consumed,
// both ends say the same.
struct Traffic {
  std::uint64_t sent_payload_bytes = 0, sent_header_bytes = 0, sent_messages = 0;
  std::uint64_t received_payload_bytes = 0, received_header_bytes = 0, received_messages = 0;
  std::uint64_t stale_messages = 0;  // of an older generation, dropped
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Memory that peers can read in place; empty where there is none. Bytes posted from elsewhere are
  // carried all the same.
  virtual std::span<std::byte> arena() = 0;

  // Offers bytes to `peer`. They may be read where they lie, so they must stay as they are until
  // they are consumed or this end is gone. False: the channel is full (back-pressure), try again
  // after `wait`. A zero-length message is a message.
  virtual base::Result<bool> post(int peer, int channel, Tag tag,
                                  std::span<const std::byte> bytes) = 0;
  // How many messages to `peer` have been consumed there, in order, since the start.
  virtual base::Result<std::uint64_t> consumed(int peer, int channel) = 0;

  // The oldest message from `peer` that is not released, or nothing. Asking again returns the same
  // message. Whether it is the one that should come is the caller's to check (core/comm/expect.h).
  virtual base::Result<std::optional<Message>> receive(int peer, int channel) = 0;
  virtual base::Result<void> release(int peer, int channel) = 0;

  // Returns when something may have changed since this thread's last call, at the latest after
  // `limit`: spins briefly, yields, then sleeps. May return early. False: the limit passed and
  // nothing changed.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  virtual void wake() = 0;

  // Every later call of this rank fails with `reason`; peers see it as soon as they look. The first
  // reason stays.
  virtual void abort(const base::Problem& reason) = 0;
  // Fails with the reason once this rank or a peer has aborted, or a peer was found dead.
  virtual base::Result<void> state() const = 0;

  virtual Traffic traffic(int peer) const = 0;

  virtual void may_lose(int peer) = 0;
  virtual bool has_lost(int peer) const = 0;
  // With a peer that was lost, or that somebody knows to be gone: what lies between the two, in
  // both directions, is forgotten, and `consumed` counts from 0 again. What comes from then on is
  // of whoever takes its place, and messages between the two are of `generation`.
  virtual base::Result<void> begin_anew(int peer, std::uint32_t generation) = 0;
};

}  // namespace trainyard::comm
