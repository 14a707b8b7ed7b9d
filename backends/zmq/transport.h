// SPDX-License-Identifier: GPL-3.0-or-later
// Transport between ranks on one or several hosts, over ZeroMQ. Every rank binds one PULL socket
// and connects a PUSH socket to each peer. A message is a header frame and a raw payload frame,
// which is sent from the caller's memory without a copy. The receiver returns the number of
// messages that it has consumed, in frames without a payload. Traffic counts these frames as header
// bytes.
//
// Threads: one thread at a time owns a transport and makes all calls. Only `wake`, `abort`, `state`
// and `traffic` may be called from any thread. An abort is sent to the peers at the owner's next
// call.
//
// Frames that are malformed, repeated, of another run or of an unknown lane are dropped and
// counted. Frames of an older generation are dropped and counted as stale. Three errors abort the
// transport with a Problem that names the peer: a gap in sequence numbers, a closed connection, and
// an unreachable peer. A silent peer is no error: ranks and coordinator exchange heartbeats
// (core/session/protocol/timeouts.h), from which they subtract the time for which they were
// suspended themselves. ZeroMQ's own heartbeats do not do this, so they are not used.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/zmq/curve_keys.h"
#include "core/comm/transport.h"

namespace trainyard::zmq {

struct TransportOptions {
  int channels = 8;
  std::size_t max_payload_bytes = std::size_t{1} << 30;
  // Maximum number of payload bytes per lane that were posted and not yet consumed. A single
  // message may exceed it.
  std::size_t window_bytes = std::size_t{64} << 20;
  std::uint64_t run_key = 0;  // equal on all ranks of a run; frames with another key are dropped
  CurveKeys keys = {};        // equal on all ranks of a run; empty: sockets are not encrypted
  // Number of ranks that compute on this machine's cores; 0: all ranks. It determines how long
  // waits spin before they sleep.
  int sharers = 0;
  std::chrono::milliseconds connect_limit{10'000};  // time limit to reach all peers
};

class Transport : public comm::Transport {
 public:
  virtual std::uint64_t rejected_frames() const = 0;  // thread-safe
  // True if connections to all peers were established. Until then, `wait` continues to connect. A
  // message from a peer is received only after this rank has connected to that peer, so that this
  // rank can acknowledge it.
  virtual bool connected() const = 0;
};

// Transport with a bound socket, to which peers can already connect. It does not know the endpoints
// of its peers yet.
class Bound {
 public:
  virtual ~Bound() = default;
  // Returns the endpoint for peers to connect to. It contains the port even if the system chose it.
  virtual std::string endpoint() const = 0;
  // Connects to the endpoints of all ranks. `endpoints` has one entry per rank. This rank's own
  // entry is not used. If an entry is empty, this transport does not connect to that peer. Returns
  // before the connections are established; until then, `post` returns that there is no room. Call
  // it once.
  virtual base::Result<std::unique_ptr<Transport>> connect(
      const std::vector<std::string>& endpoints) = 0;
};

// Binds the socket of a rank. `endpoint` is ipc://PATH or tcp://ADDRESS:PORT, where PORT may be *.
// ADDRESS must be that of one network interface. A wildcard is refused, because the socket would
// then listen on all interfaces.
base::Result<std::unique_ptr<Bound>> bind(int rank, int ranks, std::uint32_t generation,
                                          const std::string& endpoint,
                                          const TransportOptions& options = {});

}  // namespace trainyard::zmq
