// SPDX-License-Identifier: GPL-3.0-or-later
// A rank's implementation of the ZeroMQ transport.
#pragma once

#include <poll.h>

#include <atomic>
#include <memory>
#include <mutex>

#include "backends/zmq/connection_gate.h"
#include "backends/zmq/curve.h"
#include "backends/zmq/transport_lanes.h"
#include "backends/zmq/transport_link.h"
#include "core/comm/futex_event.h"

namespace trainyard::zmq {

// Kernel event counter (eventfd) that any thread can raise to end another thread's poll.
class WakeEvent {
 public:
  WakeEvent();
  ~WakeEvent();
  WakeEvent(const WakeEvent&) = delete;
  WakeEvent& operator=(const WakeEvent&) = delete;
  bool valid() const { return fd_ >= 0; }
  int file_descriptor() const { return fd_; }
  void raise();
  bool take();  // returns true if the event was raised since the last call

 private:
  int fd_;
};

struct Identity {
  int rank = 0;
  int ranks = 0;
  std::uint32_t generation = 0;
};

class End final : public Transport {
 public:
  // Throws ::zmq::error_t if a socket cannot be created.
  End(Identity identity, const TransportOptions& options, std::unique_ptr<::zmq::context_t> context,
      std::unique_ptr<KeyHandler> handler, ::zmq::socket_t inbox, ConnectionGate gate,
      const std::vector<std::string>& endpoints);
  ~End() override;

  int rank() const override { return identity_.rank; }
  int ranks() const override { return identity_.ranks; }
  std::span<std::byte> arena() override { return {}; }
  base::Result<bool> post(int peer, int channel, comm::Tag tag,
                          std::span<const std::byte> bytes) override;
  base::Result<std::uint64_t> consumed(int peer, int channel) override;
  base::Result<std::optional<comm::Message>> receive(int peer, int channel) override;
  base::Result<void> release(int peer, int channel) override;
  bool wait(std::chrono::microseconds limit) override;
  void wake() override { wake_.raise(); }
  void abort(const base::Problem& reason) override;
  base::Result<void> state() const override;
  comm::Traffic traffic(int peer) const override;
  void allow_loss(int peer) override { peer_at(peer).is_loss_allowed = true; }
  bool has_lost(int peer) const override;
  base::Result<void> reconnect(int peer, std::uint32_t generation) override;
  std::uint64_t rejected_frames() const override { return rejected_.get(); }
  bool connected() const override;

 private:
  struct Peer {
    // Outgoing connection; null for this rank, and for peers to which this transport does not
    // connect.
    std::unique_ptr<Link> link;
    std::vector<OutLane> out;
    std::vector<InLane> in;
    comm::Counter stale;
    std::uint32_t generation = 0;  // generation of messages between the two ranks
    // True if the peer left normally, or if it was lost and the other ranks may continue without
    // it.
    bool left = false;
    bool is_loss_allowed = false;
    bool knows_abort = false;
    int source = -1;  // connection over which the peer's frames arrive; -1: not known yet
  };

  Peer& peer_at(int peer) { return peers_[static_cast<std::size_t>(peer)]; }
  OutLane& out(int peer, int channel) {
    return peer_at(peer).out[static_cast<std::size_t>(channel)];
  }
  InLane& in(int peer, int channel) { return peer_at(peer).in[static_cast<std::size_t>(channel)]; }
  base::Result<void> check(int peer, int channel);
  base::Result<void> check_post(int peer, comm::Tag tag, std::size_t bytes) const;
  base::Problem problem_with(const char* id, int peer, const std::string& what,
                             const std::string& advice = "") const;
  base::Problem gone(int peer, const std::string& what) const;
  FrameHeader header(FrameKind kind, int peer) const;

  // Makes progress: receives up to kFramesAtOnce frames, then watches connections and sends pending
  // acknowledgments.
  void pump();
  bool take_frame();
  void drop_rest();
  void accept(const FrameHeader& header, ::zmq::message_t payload, int source);
  void accept_data(const FrameHeader& header, ::zmq::message_t payload);
  void accept_consumed(const FrameHeader& header);
  void accept_abort(Peer& from, const base::Problem& reason);
  void reject() { rejected_.add(1); }
  void acknowledge(int peer, int channel);
  void watch_links();
  void judge(int peer, std::int64_t now);
  bool set_reason(const base::Problem& reason);
  void send_abort();

  bool spin(std::int64_t end);
  void sleep(std::int64_t end);
  bool ready();

  Identity identity_;
  TransportOptions options_;
  comm::SpinPolicy patience_;
  std::unique_ptr<::zmq::context_t> context_;
  std::unique_ptr<KeyHandler> handler_;  // null if sockets are not encrypted
  ::zmq::socket_t inbox_;
  ConnectionGate gate_;
  std::vector<Peer> peers_;
  std::vector<pollfd> polled_;
  WakeEvent wake_;
  std::int64_t started_;
  std::int64_t next_watch_ = 0, watched_ = 0;
  bool changed_ = true;  // true if something changed since the last wait
  comm::Counter rejected_;

  std::atomic<bool> aborted_{false};
  std::atomic<bool> telling_{false};  // true if an abort must still be sent to peers
  mutable std::mutex reason_mutex_;
  base::Problem reason_;
};

}  // namespace trainyard::zmq
