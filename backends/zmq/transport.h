// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks on many hosts, over ZeroMQ. Every rank binds one PULL socket and connects a PUSH socket to
// each peer. A message is a header frame and a raw payload frame, sent from the caller's memory
// without a copy. `consumed` counts return in header-only frames, which Traffic counts as header
// bytes.
//
// Threads: one thread at a time owns a transport and makes all calls. `wake`, `abort`, `state` and
// `traffic` may be called from any thread. The owner sends an abort to the peers at its next call.
//
// Frames that are malformed, repeated, of another run or of an unknown lane are dropped and
// counted; those of an older generation are counted as stale. A gap in the sequence, a lost
// connection (closed, or silent for `heartbeat_limit`) or an unreachable peer aborts the transport
// with a Problem that names the peer.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "core/comm/transport.h"

namespace trainyard::zmq {

struct TransportOptions {
  int channels = 8;
  std::size_t max_payload_bytes = std::size_t{1} << 30;
  std::size_t window_bytes = std::size_t{64}
                             << 20;  // unconsumed payload bytes per lane, beyond one message
  std::uint64_t run_key = 0;  // equal on all ranks of a run; frames with another key are dropped
  // Ranks that compute on this machine's cores; determines whether waits spin or sleep. 0: all
  // ranks.
  int sharers = 0;
  std::chrono::milliseconds connect_limit{10'000};  // to reach all peers
  std::chrono::milliseconds heartbeat_interval{2'000};
  std::chrono::milliseconds heartbeat_limit{8'000};
};

class Transport : public comm::Transport {
 public:
  virtual std::uint64_t rejected_frames() const = 0;  // thread-safe
  // True if all peers were reached; until then `wait` makes progress. Nothing is received from a
  // peer that was not reached yet, so that every received message can be answered.
  virtual bool connected() const = 0;
};

// Rank that peers can already reach, but that does not know the peers yet.
class Bound {
 public:
  virtual ~Bound() = default;
  // Returns the endpoint for peers, with the port that the system chose.
  virtual std::string endpoint() const = 0;
  // Connects to the `endpoints` of all ranks, in order of ranks. This rank's own entry is not used;
  // an empty entry is a peer that this transport does not serve. Returns before the connections are
  // established: until then `post` finds no room. Call it once.
  virtual base::Result<std::unique_ptr<Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

// Binds a rank. `endpoint` is ipc://PATH or tcp://ADDRESS:PORT, where PORT may be *. The address
// must be that of one interface: a wildcard, which would listen on all of them, is refused.
base::Result<std::unique_ptr<Bound>> bind(int rank, int ranks, std::uint32_t generation,
                                          const std::string& endpoint,
                                          const TransportOptions& options = {});

}  // namespace trainyard::zmq
