// SPDX-License-Identifier: GPL-3.0-or-later
// Transport between ranks on many hosts, over ZeroMQ. Every rank binds one PULL socket and connects
// a PUSH socket to each peer. A message is a header frame and a raw payload frame, which is sent
// from the caller's memory without a copy. The receiver returns the number of consumed messages in
// frames without a payload, which Traffic counts as header bytes.
//
// Threads: one thread at a time owns a transport and makes all calls. Only `wake`, `abort`, `state`
// and `traffic` may be called from any thread. An abort is sent to the peers at the owner's next
// call.
//
// Frames that are malformed, repeated, of another run or of an unknown lane are dropped and
// counted. Frames of an older generation are dropped and counted as stale. Three errors abort the
// transport with a Problem that names the peer: a gap in sequence numbers, a lost connection
// (closed, or silent for `heartbeat_limit`), and an unreachable peer.
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
  // Limit of unconsumed payload bytes per lane. A single message may exceed it.
  std::size_t window_bytes = std::size_t{64} << 20;
  std::uint64_t run_key = 0;  // equal on all ranks of a run; frames with another key are dropped
  // Number of ranks that compute on this machine's cores. It determines whether waits spin or
  // sleep. 0: all ranks.
  int sharers = 0;
  std::chrono::milliseconds connect_limit{10'000};  // time limit to reach all peers
  std::chrono::milliseconds heartbeat_interval{2'000};
  std::chrono::milliseconds heartbeat_limit{8'000};
};

class Transport : public comm::Transport {
 public:
  virtual std::uint64_t rejected_frames() const = 0;  // thread-safe
  // True if all peers were reached. Until then `wait` continues to connect. Nothing is received
  // from a peer that was not reached yet, so that this rank can answer every message it receives.
  virtual bool connected() const = 0;
};

// Transport that peers can already reach, but that does not know its peers yet.
class Bound {
 public:
  virtual ~Bound() = default;
  // Returns the endpoint for peers, with the port that the system chose.
  virtual std::string endpoint() const = 0;
  // Connects to the `endpoints` of all ranks, in order of ranks. This rank's own entry is not used.
  // An empty entry is a peer to which this transport does not connect. Returns before connections
  // are established; until then `post` finds no room. Call it once.
  virtual base::Result<std::unique_ptr<Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

// Binds a rank. `endpoint` is ipc://PATH or tcp://ADDRESS:PORT, where PORT may be *. ADDRESS must
// be that of one interface. A wildcard is refused, because it would listen on all interfaces.
base::Result<std::unique_ptr<Bound>> bind(int rank, int ranks, std::uint32_t generation,
                                          const std::string& endpoint,
                                          const TransportOptions& options = {});

}  // namespace trainyard::zmq
