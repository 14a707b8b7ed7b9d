// SPDX-License-Identifier: GPL-3.0-or-later
// Receiving side: frames, the state of links, and waits for both. A frame is accepted, or dropped
// (and counted), or ends the transport with a Problem.
#include <fmt/core.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "backends/zmq/transport_end.h"
#include "core/base/clock.h"
#include "core/comm/problem_bytes.h"

namespace trainyard::zmq {
namespace {

// maximum number of frames that one pump receives, so that a flood of frames cannot keep it busy
constexpr int kFramesAtOnce = 256;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kWatchEvery = 10 * kMillisecond;
// Time from the loss of a connection until the loss becomes a Problem. The loss and the peer's last
// frames arrive separately, so the frame that says that the peer left may be read slightly later.
constexpr std::int64_t kGraceAfterLoss = 200 * kMillisecond;
// A connection that has carried no frame may be replaced: on an overloaded host its handshake may
// have taken too long.
constexpr std::int64_t kTimeToReconnect = 5'000 * kMillisecond;
// Time that a wait spins before it sleeps. A peer can send a few messages in this time. Waking a
// sleeping thread takes about 50 us if its core went to sleep.
constexpr std::int64_t kSpinNanoseconds = kMillisecond / 2;
constexpr std::int64_t kMaxSleep = 50 * kMillisecond;
constexpr std::int64_t kOwnPause = 1000 * kMillisecond;

}  // namespace

WakeEvent::WakeEvent() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

WakeEvent::~WakeEvent() {
  if (fd_ >= 0) ::close(fd_);
}

void WakeEvent::raise() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

bool WakeEvent::take() {
  std::uint64_t count = 0;
  return ::read(fd_, &count, sizeof count) == sizeof count;
}

void End::pump() {
  for (int i = 0; i < kFramesAtOnce && take_frame(); ++i) {
  }
  for (int peer = 0; peer < ranks(); ++peer)
    for (int channel = 0; channel < static_cast<int>(peer_at(peer).in.size()); ++channel)
      if (in(peer, channel).acknowledged < in(peer, channel).released) acknowledge(peer, channel);
  if (base::now_nanoseconds() >= next_watch_) watch_links();
  send_abort();
}

// Receives one message from the PULL socket. Returns false if there is none.
bool End::take_frame() {
  ::zmq::message_t head, payload;
  if (zmq_msg_recv(head.handle(), inbox_.handle(), ZMQ_DONTWAIT) < 0) return false;
  const auto header = decode({static_cast<const std::byte*>(head.data()), head.size()});
  bool whole = header && head.more() == has_payload(header->kind);
  if (whole && head.more()) {
    whole = zmq_msg_recv(payload.handle(), inbox_.handle(), ZMQ_DONTWAIT) >= 0 && !payload.more() &&
            payload.size() == header->payload_bytes;
  }
  if (inbox_.get(::zmq::sockopt::rcvmore)) drop_rest();
  if (whole) accept(*header, std::move(payload), zmq_msg_get(head.handle(), ZMQ_SRCFD));
  else reject();
  return true;
}

void End::drop_rest() {
  ::zmq::message_t part;
  do {
    if (zmq_msg_recv(part.handle(), inbox_.handle(), ZMQ_DONTWAIT) < 0) return;
  } while (part.more());
}

// `source`: number of the connection over which the frame arrived; -1: unknown. All frames of a
// peer's process arrive over the same connection, so a frame of another one is rejected.
void End::accept(const FrameHeader& header, ::zmq::message_t payload, int source) {
  const bool addressed = header.run_key == options_.run_key &&
                         header.to == static_cast<std::uint32_t>(rank()) &&
                         header.from < static_cast<std::uint32_t>(ranks()) &&
                         header.channel < static_cast<std::uint32_t>(options_.channels);
  if (!addressed || peers_[header.from].link == nullptr) return reject();
  Peer& peer = peers_[header.from];
  if (header.generation < peer.generation) return peer.stale.add(1);
  if (header.generation > peer.generation) return reject();
  if (peer.source < 0) peer.source = source;
  if (peer.source != source) return reject();
  changed_ = true;
  switch (header.kind) {
    case FrameKind::data: return accept_data(header, std::move(payload));
    case FrameKind::consumed: return accept_consumed(header);
    case FrameKind::abort:
      return accept_abort(peer,
                          comm::problem_from_bytes(
                              {static_cast<const std::byte*>(payload.data()), payload.size()}));
    case FrameKind::leave: peer.left = true;
  }
}

void End::accept_data(const FrameHeader& header, ::zmq::message_t payload) {
  InLane& lane = peers_[header.from].in[header.channel];
  if (header.sequence < lane.arrived || lane.full()) return reject();
  if (header.sequence > lane.arrived)
    return abort(
        problem_with("message_lost", static_cast<int>(header.from),
                     fmt::format("sent message {} of channel {}, but message {} did not arrive",
                                 header.sequence, header.channel, lane.arrived)));
  lane.counters.add_message(payload.size(), kFrameHeaderBytes);
  InLane::Slot& slot = lane.slots[lane.arrived++ % kWindowMessages];
  slot.tag = {header.generation, header.step, header.op};
  slot.payload = std::move(payload);
}

void End::accept_consumed(const FrameHeader& header) {
  Peer& peer = peers_[header.from];
  if (!peer.out[header.channel].set_consumed(header.sequence)) return reject();
  peer.in[header.channel].counters.header_bytes.add(kFrameHeaderBytes);
}

// Aborts this transport after a peer's abort, and forwards the abort to the other peers. Frames of
// one rank arrive in order, so peers receive the reason before they see that this rank leaves.
void End::accept_abort(Peer& from, const base::Problem& reason) {
  from.knows_abort = true;
  abort(reason);
}

void End::watch_links() {
  const std::int64_t now = base::now_nanoseconds();
  // time for which this process was suspended does not count against peers
  if (watched_ > 0 && now - watched_ > kOwnPause) started_ += now - watched_;
  watched_ = now;
  next_watch_ = now + kWatchEvery;
  gate_.watch();
  for (int peer = 0; peer < ranks(); ++peer) {
    Link* link = peer_at(peer).link.get();
    if (link == nullptr) continue;
    if (link->watch()) changed_ = true;
    if (!peer_at(peer).left) judge(peer, now);
  }
}

void End::judge(int peer, std::int64_t now) {
  const Link& link = *peer_at(peer).link;
  const std::int64_t grace = link.has_sent() ? kGraceAfterLoss : kTimeToReconnect;
  const bool lost = link.lost_since() != 0 && now - link.lost_since() > grace;
  if (lost && peer_at(peer).is_loss_allowed) changed_ = peer_at(peer).left = true;
  else if (lost)
    abort(problem_with(
        "peer_lost", peer, fmt::format("is lost: its connection at {} ended", link.endpoint()),
        "See the log of that rank: its process ended, or its host cannot be reached."));
  else if (!link.was_connected() && !peer_at(peer).is_loss_allowed &&
           now - started_ > options_.connect_limit.count() * kMillisecond)
    abort(problem_with("peer_unreachable", peer,
                       fmt::format("cannot be reached at {}", link.endpoint()),
                       "Check that the rank runs, and that no firewall blocks the port."));
}

bool End::wait(std::chrono::microseconds limit) {
  const std::int64_t end = base::now_nanoseconds() + limit.count() * 1000;
  for (;;) {
    pump();
    const bool woken = wake_.take();
    if (std::exchange(changed_, false) || woken) return true;
    if (base::now_nanoseconds() >= end) return false;
    if (!spin(end)) sleep(end);
  }
}

bool End::spin(std::int64_t end) {
  const std::int64_t start = base::now_nanoseconds();
  for (std::int64_t now = start; !ready(); now = base::now_nanoseconds()) {
    if (now >= std::min(end, start + kSpinNanoseconds)) return false;
    if (now >= start + patience_.spin.count()) ::sched_yield();
  }
  return true;
}

bool End::ready() { return (inbox_.get(::zmq::sockopt::events) & ZMQ_POLLIN) != 0; }

// Sleeps until an event or the time `end`. Checks for pending events first, because ZeroMQ's
// descriptor signals only changes (ZMQ_FD in zmq_getsockopt(3)).
void End::sleep(std::int64_t end) {
  if (ready()) return;
  for (Peer& peer : peers_)
    if (peer.link != nullptr && peer.link->events_waiting()) return void(next_watch_ = 0);
  const std::int64_t span = std::clamp<std::int64_t>(end - base::now_nanoseconds(), 0, kMaxSleep);
  const timespec limit{span / 1'000'000'000, span % 1'000'000'000};
  ::ppoll(polled_.data(), polled_.size(), &limit, nullptr);
  next_watch_ = 0;
}

}  // namespace trainyard::zmq
