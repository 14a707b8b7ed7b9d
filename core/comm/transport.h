// SPDX-License-Identifier: GPL-3.0-or-later
// Transport of bytes from rank to rank. Messages from one rank to another on one channel keep their
// order. `post` starts a send; the send is complete when the peer has consumed the bytes. So peers
// can read shared memory in place, without staging. The caller must not change posted bytes until
// the send is complete.
//
// Threads: each (peer, channel) pair is used by one thread per direction. Different pairs may be
// used by different threads, unless a backend requires a single thread. Any thread may call `wake`,
// `abort`, `state` and `traffic`. Only `wait` blocks.
//
// Shutdown: destroying a transport is a clean departure. Messages posted before can still be
// received; after that, calls for a peer that left return a Problem that names it, as for a peer
// that died. Peers may read a rank's posted bytes until they are consumed or its transport is
// destroyed.
//
// Peers that may be lost: if a run can continue without a peer, each other rank must call
// `allow_loss` before it waits for the first time. Then neither departure nor death of that peer is
// a Problem. `has_lost` reports it, no more messages arrive from the peer, and messages posted to
// it are discarded. After every rank that communicates with it has called `reconnect`, another
// process of the next generation may take its place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/result.h"

namespace trainyard::comm {

// Identifies the purpose of a message. Sender and receiver must use the same tag; otherwise the
// receiver reports both tags.
struct Tag {
  std::uint32_t generation = 0;
  std::uint32_t step = 0;
  std::uint32_t op = 0;  // id of this transfer, which is equal for sender and receiver
  bool operator==(const Tag&) const = default;
};

struct Message {
  Tag tag;
  std::span<const std::byte> bytes;  // valid until the message is released
};

// Bytes exchanged with one peer, counted when they are sent, received or, in shared memory, read.
// No bytes are missed. Header bytes are descriptors, frame headers and acknowledgments. When
// everything is consumed, both ends have the same counts.
struct Traffic {
  std::uint64_t sent_payload_bytes = 0, sent_header_bytes = 0, sent_messages = 0;
  std::uint64_t received_payload_bytes = 0, received_header_bytes = 0, received_messages = 0;
  std::uint64_t stale_messages = 0;  // number of dropped messages of an older generation
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int ranks() const = 0;

  // Returns memory that peers can read in place; empty if there is none. Bytes posted from other
  // memory are copied.
  virtual std::span<std::byte> arena() = 0;

  // Posts bytes to `peer`. The peer may read them in place, so they must not change until they are
  // consumed or this transport is destroyed. Returns false if the channel is full (back-pressure);
  // the caller must try again after `wait`. A zero-length message is a message.
  virtual base::Result<bool> post(int peer, int channel, Tag tag,
                                  std::span<const std::byte> bytes) = 0;
  // Returns how many messages of this rank `peer` has consumed, in order, since the start.
  virtual base::Result<std::uint64_t> consumed(int peer, int channel) = 0;

  // Returns the oldest unreleased message from `peer`, or nothing. Repeated calls return the same
  // message. The caller checks that the message is the expected one (core/comm/expect.h).
  virtual base::Result<std::optional<Message>> receive(int peer, int channel) = 0;
  virtual base::Result<void> release(int peer, int channel) = 0;

  // Waits until something may have changed since this thread's last call, but at most `limit`.
  // Spins briefly, yields, then sleeps. May return early. Returns false if nothing changed until
  // the timeout.
  virtual bool wait(std::chrono::microseconds limit) = 0;
  virtual void wake() = 0;

  // Makes every later call of this rank fail with `reason`, and the next call of each peer. The
  // first reason is kept.
  virtual void abort(const base::Problem& reason) = 0;
  // Returns a Problem with the reason after this rank or a peer aborted, or a peer died.
  virtual base::Result<void> state() const = 0;

  virtual Traffic traffic(int peer) const = 0;

  virtual void allow_loss(int peer) = 0;
  virtual bool has_lost(int peer) const = 0;
  // Resets the connection to a peer that was lost, or is known to be gone. Drops messages in both
  // directions, and `consumed` restarts at 0. Later messages come from the process that takes the
  // peer's place; their tags have this `generation`.
  virtual base::Result<void> reconnect(int peer, std::uint32_t generation) = 0;
};

}  // namespace trainyard::comm
