// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/transport_end.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/comm/problem_bytes.h"

namespace trainyard::zmq {

using base::Problem;
using base::ProblemCode;
using base::Result;
using comm::Message;
using comm::Tag;

namespace {

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

}  // namespace

End::End(Identity identity, const TransportOptions& options,
         std::unique_ptr<::zmq::context_t> context, std::unique_ptr<KeyHandler> handler,
         ::zmq::socket_t inbox, ConnectionGate gate, const std::vector<std::string>& endpoints)
    : identity_(identity),
      options_(options),
      // Counts two threads per rank, because ZeroMQ's I/O thread also needs a core.
      patience_(comm::patience(2 * (options.sharers > 0 ? options.sharers : identity.ranks))),
      context_(std::move(context)),
      handler_(std::move(handler)),
      inbox_(std::move(inbox)),
      gate_(std::move(gate)),
      peers_(endpoints.size()),
      started_(base::now_nanoseconds()) {
  polled_ = {{wake_.file_descriptor(), POLLIN, 0}, {inbox_.get(::zmq::sockopt::fd), POLLIN, 0}};
  for (int peer = 0; peer < identity.ranks; ++peer) {
    const std::string& endpoint = endpoints[static_cast<std::size_t>(peer)];
    if (peer == identity.rank || endpoint.empty()) continue;
    Peer& made = peer_at(peer);
    made.generation = identity.generation;
    made.out = std::vector<OutLane>(static_cast<std::size_t>(options.channels));
    made.in = std::vector<InLane>(static_cast<std::size_t>(options.channels));
    made.link = std::make_unique<Link>(*context_, endpoint, peer, options);
    polled_.push_back({made.link->file_descriptor(), POLLIN, 0});
  }
}

// Before the sockets close, sends the peers the reason of an abort, if there was one, and a message
// that this rank leaves. Closing the context ends its threads, so posted bytes may be freed
// afterwards.
End::~End() {
  send_abort();
  for (int peer = 0; peer < ranks(); ++peer)
    if (Link* link = peer_at(peer).link.get(); link != nullptr && !peer_at(peer).left)
      link->send(header(FrameKind::leave, peer));
}

Problem End::problem_with(const char* id, int peer, const std::string& what,
                          const std::string& advice) const {
  return {id,
          ProblemCode::failed,
          rank_name(rank()),
          fmt::format("{} {}", rank_name(peer), what),
          "",
          advice};
}

// Returns the Problem that a peer has left. If the peer aborted before it left, both frames may
// have been received by the same pump. The reason of the abort is then returned instead.
Problem End::gone(int peer, const std::string& what) const {
  const auto ok = state();
  return ok ? problem_with("peer_left", peer, fmt::format("has left {}", what)) : ok.error();
}

Result<void> End::state() const {
  if (!aborted_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(reason_mutex_);
  return base::fail(reason_);
}

Result<void> End::check(int peer, int channel) {
  if (aborted_.load(std::memory_order_acquire)) {
    send_abort();
    return state();
  }
  const bool known = peer >= 0 && peer < ranks() && peer_at(peer).link != nullptr && channel >= 0 &&
                     channel < options_.channels;
  if (known) return {};
  return base::fail(
      {"unknown_channel", ProblemCode::bad_usage, rank_name(rank()),
       fmt::format("there is no channel {} to {}", channel, rank_name(peer)),
       fmt::format("a connected rank, and a channel from 0 to {}", options_.channels - 1), ""});
}

Result<void> End::check_post(int peer, Tag tag, std::size_t bytes) const {
  const std::uint32_t generation = peers_[static_cast<std::size_t>(peer)].generation;
  const auto wrong = [&](const std::string& what, const std::string& accepted) {
    return base::fail(
        {"bad_message", ProblemCode::bad_usage, rank_name(rank()), what, accepted, ""});
  };
  if (tag.generation != generation)
    return wrong(fmt::format("the rank posted a message of generation {}", tag.generation),
                 fmt::format("generation {}", generation));
  if (bytes > options_.max_payload_bytes)
    return wrong(fmt::format("the rank posted a message of {} bytes", bytes),
                 fmt::format("up to {} bytes", options_.max_payload_bytes));
  return {};
}

FrameHeader End::header(FrameKind kind, int peer) const {
  FrameHeader made;
  made.kind = kind;
  made.run_key = options_.run_key;
  made.generation = peers_[static_cast<std::size_t>(peer)].generation;
  made.from = static_cast<std::uint32_t>(rank());
  made.to = static_cast<std::uint32_t>(peer);
  return made;
}

Result<bool> End::post(int peer, int channel, Tag tag, std::span<const std::byte> bytes) {
  if (auto ok = check(peer, channel).and_then([&] { return check_post(peer, tag, bytes.size()); });
      !ok)
    return base::fail(ok.error());
  OutLane& lane = out(peer, channel);
  if (!lane.has_room(bytes.size(), options_.window_bytes)) pump();
  if (has_lost(peer)) return true;
  if (peer_at(peer).left) return base::fail(gone(peer, "and accepts no more messages"));
  if (!lane.has_room(bytes.size(), options_.window_bytes)) return false;
  FrameHeader head = header(FrameKind::data, peer);
  head.channel = static_cast<std::uint32_t>(channel);
  head.sequence = lane.posted;
  head.step = tag.step;
  head.op = tag.op;
  head.payload_bytes = bytes.size();
  if (!peer_at(peer).link->send(head, bytes)) {
    // The send failed although the lane had room, so the connection is lost. This rank has not
    // detected the loss yet.
    if (peer_at(peer).is_loss_allowed && peer_at(peer).link->was_connected())
      return peer_at(peer).left = true;
    return false;
  }
  lane.add(bytes.size());
  lane.counters.add_message(bytes.size(), kFrameHeaderBytes);
  return true;
}

Result<std::uint64_t> End::consumed(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return base::fail(ok.error());
  const OutLane& lane = out(peer, channel);
  if (lane.consumed < lane.posted) pump();
  if (has_lost(peer)) return lane.posted;
  if (lane.consumed < lane.posted && peer_at(peer).left)
    return base::fail(gone(peer, "without consuming all messages posted to it"));
  return lane.consumed;
}

Result<std::optional<Message>> End::receive(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return base::fail(ok.error());
  InLane& lane = in(peer, channel);
  const Peer& from = peer_at(peer);
  // True if this rank has not connected to the peer yet. Each direction has its own connection, so
  // a frame of the peer may arrive before that. The acknowledgment of that frame could not be sent.
  const bool unreached = !from.left && !from.link->was_connected();
  if (lane.empty() || unreached) pump();
  if (unreached) return std::nullopt;
  if (lane.empty() && peer_at(peer).left && !peer_at(peer).is_loss_allowed)
    return base::fail(gone(peer, "and sends no more messages"));
  if (lane.empty()) return std::nullopt;
  const InLane::Slot& slot = lane.oldest();
  return Message{slot.tag,
                 {static_cast<const std::byte*>(slot.payload.data()), slot.payload.size()}};
}

Result<void> End::release(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return ok;
  InLane& lane = in(peer, channel);
  if (lane.empty())
    return base::fail(
        problem_with("nothing_to_release", peer, "sent no message that could be released"));
  lane.release();
  acknowledge(peer, channel);
  return {};
}

// Sends the peer the number of messages that this rank has released. If the link has no room, the
// next pump tries again. A later count includes the earlier messages, so a count may be skipped.
void End::acknowledge(int peer, int channel) {
  InLane& lane = in(peer, channel);
  FrameHeader head = header(FrameKind::consumed, peer);
  head.channel = static_cast<std::uint32_t>(channel);
  head.sequence = lane.released;
  if (!peer_at(peer).link->send(head)) return;
  lane.acknowledged = lane.released;
  out(peer, channel).counters.header_bytes.add(kFrameHeaderBytes);
}

bool End::connected() const {
  return std::all_of(peers_.begin(), peers_.end(), [](const Peer& peer) {
    return peer.link == nullptr || peer.link->was_connected();
  });
}

bool End::set_reason(const Problem& reason) {
  const std::lock_guard lock(reason_mutex_);
  if (aborted_.load(std::memory_order_relaxed)) return false;
  reason_ = reason;
  aborted_.store(true, std::memory_order_release);
  return true;
}

void End::abort(const Problem& reason) {
  if (set_reason(reason)) telling_.store(true, std::memory_order_release);
  wake();
}

void End::send_abort() {
  if (!telling_.load(std::memory_order_acquire)) return;
  const auto text = comm::to_bytes(state().error());
  for (int peer = 0; peer < ranks(); ++peer) {
    Peer& other = peer_at(peer);
    if (other.link == nullptr || other.left || other.knows_abort) continue;
    FrameHeader head = header(FrameKind::abort, peer);
    head.payload_bytes = text.size();
    other.knows_abort = other.link->send_copy(head, text);
  }
}

bool End::has_lost(int peer) const {
  if (peer < 0 || peer >= ranks()) return false;
  const Peer& known = peers_[static_cast<std::size_t>(peer)];
  return known.is_loss_allowed && known.left;
}

// Resets the lanes to and from a peer. Frames that the peer sent before have an older generation
// and are dropped.
Result<void> End::reconnect(int peer, std::uint32_t generation) {
  if (auto ok = check(peer, 0); !ok) return ok;
  Peer& peer_state = peer_at(peer);
  for (OutLane& lane : peer_state.out) lane.reset();
  for (InLane& lane : peer_state.in) lane.reset();
  peer_state.link->reset();
  peer_state.generation = generation;
  peer_state.source = -1;
  peer_state.left = peer_state.knows_abort = false;
  return {};
}

comm::Traffic End::traffic(int peer) const {
  comm::Traffic sum;
  if (peer < 0 || peer >= ranks()) return sum;
  const Peer& known = peers_[static_cast<std::size_t>(peer)];
  for (const OutLane& lane : known.out) {
    sum.sent_payload_bytes += lane.counters.payload_bytes.get();
    sum.sent_header_bytes += lane.counters.header_bytes.get();
    sum.sent_messages += lane.counters.messages.get();
  }
  for (const InLane& lane : known.in) {
    sum.received_payload_bytes += lane.counters.payload_bytes.get();
    sum.received_header_bytes += lane.counters.header_bytes.get();
    sum.received_messages += lane.counters.messages.get();
  }
  sum.stale_messages = known.stale.get();
  return sum;
}

}  // namespace trainyard::zmq
