// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks on many hosts, over ZeroMQ: every rank binds one PULL socket and pushes to those of its
// peers. A message is a header frame and a raw payload frame, sent from the caller's memory without
// a copy; `consumed` counts come back in header-only frames, which Traffic counts as header bytes.
//
// Threads: one thread at a time owns a transport and makes all calls; `wake`, `abort`, `state` and
// `traffic` may come from any. An abort is told to peers by the owner, at its next call.
//
// Frames that are malformed, repeated, of another run or of no known lane are dropped and counted;
// those of an older generation are counted as stale. A gap in the sequence, a lost connection
// (closed, or silent for `heartbeat_limit`) and an unreachable peer abort the transport with a
// Problem that names the peer.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/transport.h"

namespace trainyard::zmq {

struct TransportOptions {
  int channels = 8;
  std::size_t maximum_payload_bytes = std::size_t{1} << 30;
  std::size_t window_bytes = std::size_t{64}
                             << 20;  // of unconsumed payload a lane, beyond one message
  std::uint64_t run_key = 0;  // the same on all ranks of a run; frames with another are dropped
  int sharers =
      0;  // ranks that compute on this machine's cores, by which waits burn or sleep; 0: all
  std::chrono::milliseconds connect_limit{10'000};  // until every peer was reached
  std::chrono::milliseconds heartbeat_interval{2'000};
  std::chrono::milliseconds heartbeat_limit{8'000};
};

class Transport : public comm::Transport {
 public:
  virtual std::uint64_t rejected_frames() const = 0;  // from any thread
  // Whether every peer was reached; until then `wait` makes progress. Of a peer that was not
  // reached yet nothing is received, so that whoever is heard can be answered.
  virtual bool connected() const = 0;
};

// A rank that peers can already reach, but that does not know them yet.
class Bound {
 public:
  virtual ~Bound() = default;
  // What peers connect to, with the port that the system chose.
  virtual std::string endpoint() const = 0;
  // `endpoints` of all ranks, in their order. The own one is not used; an empty one is a peer that
  // this transport does not serve. Returns before connections are made: until then `post` finds no
  // room. Called once.
  virtual base::Result<std::unique_ptr<Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

// `endpoint` is ipc://PATH or tcp://ADDRESS:PORT, where PORT may be *. The address is that of one
// interface: a wildcard, which would listen on all of them, is refused.
base::Result<std::unique_ptr<Bound>> bind(int rank, int ranks, std::uint32_t generation,
                                          const std::string& endpoint,
                                          const TransportOptions& options = {});

}  // namespace trainyard::zmq
