// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/mailbox.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>

namespace trainyard::comm {

using base::Result;

namespace {

std::string rank_name(int rank) { return fmt::format("rank {}", rank); }

}  // namespace

Mailbox::Mailbox(MailboxBlock block, int rank, SpinPolicy patience)
    : block_(block),
      rank_(rank),
      listener_(block.wake_event(rank), patience),
      out_(index(block.ranks(), 0)),
      in_(index(block.ranks(), 0)),
      peers_(static_cast<std::size_t>(block.ranks())) {}

Result<std::unique_ptr<Mailbox>> Mailbox::open(MailboxBlock block, int rank, SpinPolicy patience,
                                               std::int64_t process, std::int64_t process_start,
                                               bool takes_place) {
  if (rank < 0 || rank >= block.ranks())
    return base::fail({"unknown_rank", base::ProblemCode::bad_usage, rank_name(rank),
                       "the rank does not exist in this group",
                       fmt::format("0 to {}", block.ranks() - 1), ""});
  Presence& presence = block.presence(rank);
  const bool vacant =
      takes_place && Presence::has_left(presence.moves.load(std::memory_order_acquire));
  if (presence.process.exchange(process == 0 ? -1 : process) != 0 && !vacant)
    return base::fail({"rank_taken", base::ProblemCode::refused, rank_name(rank),
                       "the transport of this rank is already open", "one transport per rank", ""});
  std::unique_ptr<Mailbox> mailbox(new Mailbox(block, rank, patience));
  if (vacant) mailbox->continue_counters();
  presence.process_start.store(process_start, std::memory_order_relaxed);
  presence.moves.fetch_add(1, std::memory_order_release);
  return mailbox;
}

void Mailbox::continue_counters() {
  for (int peer = 0; peer < block_.ranks(); ++peer)
    for (int channel = 0; channel < block_.channels(); ++channel) {
      Side &sent = out(peer, channel), &received = in(peer, channel);
      sent.own = sent.others = sent.first =
          block_.lane(rank_, peer, channel).posted.load(std::memory_order_acquire);
      received.own = received.others = received.first =
          block_.lane(peer, rank_, channel).posted.load(std::memory_order_acquire);
      block_.lane(peer, rank_, channel).consumed.store(received.own, std::memory_order_release);
    }
}

// True if the peer has left and its connection has not been reset by `reconnect` since then.
bool Mailbox::has_lost(int peer) const {
  const Peer& known = peers_[static_cast<std::size_t>(peer)];
  const std::uint32_t moves = block_.presence(peer).moves.load(std::memory_order_acquire);
  return known.is_loss_allowed && Presence::has_left(moves) && moves != known.forgotten;
}

void Mailbox::reconnect(int peer) {
  std::atomic<std::uint32_t>& moves = block_.presence(peer).moves;
  std::uint32_t now = moves.load(std::memory_order_acquire);
  if (now % 2 == 1 && moves.compare_exchange_strong(now, now + 1))
    ++now;  // the process died without marking itself as left
  peers_[static_cast<std::size_t>(peer)].forgotten = now;
  for (int channel = 0; channel < block_.channels(); ++channel) {
    Side &sent = out(peer, channel), &received = in(peer, channel);
    sent.others = sent.first = sent.own;
    Lane& lane = block_.lane(peer, rank_, channel);
    received.own = received.others = received.first = lane.posted.load(std::memory_order_acquire);
    lane.consumed.store(received.own, std::memory_order_release);
  }
}

Mailbox::~Mailbox() {
  block_.presence(rank_).moves.fetch_add(1, std::memory_order_release);
  block_.notify_all_ranks();
}

Result<void> Mailbox::state() const {
  if (const auto reason = block_.abort_word().reason()) return base::fail(*reason);
  return {};
}

Result<void> Mailbox::check(int peer, int channel) const {
  if (block_.abort_word().raised()) return state();
  if (peer >= 0 && peer < block_.ranks() && peer != rank_ && channel >= 0 &&
      channel < block_.channels())
    return {};
  return base::fail({"unknown_channel", base::ProblemCode::bad_usage, rank_name(rank_),
                     fmt::format("there is no channel {} to {}", channel, rank_name(peer)),
                     fmt::format("another rank from 0 to {}, and a channel from 0 to {}",
                                 block_.ranks() - 1, block_.channels() - 1),
                     ""});
}

base::Problem Mailbox::broken(const char* id, int peer, const char* what) const {
  return {id,
          base::ProblemCode::failed,
          rank_name(rank_),
          fmt::format("{} {}", rank_name(peer), what),
          "",
          ""};
}

// Returns the Problem for a peer that has left. If the peer aborted, returns the reason of the
// abort, because a peer that aborts often leaves immediately.
base::Problem Mailbox::gone(int peer, const char* what) const {
  return block_.abort_word().reason().value_or(broken("peer_left", peer, what));
}

Result<void> Mailbox::read_consumed(int peer, int channel) {
  Side& side = out(peer, channel);
  const std::uint64_t count = std::max(
      side.first, block_.lane(rank_, peer, channel).consumed.load(std::memory_order_acquire));
  if (count < side.others || count > side.own)
    return base::fail(
        broken("bad_counter", peer, "reports more consumed messages than were posted to it"));
  side.others = count;
  return {};
}

Result<std::optional<std::uint64_t>> Mailbox::free_slot(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return base::fail(ok.error());
  Side& side = out(peer, channel);
  if (side.own - side.others >= kLaneSlots)
    if (auto ok = read_consumed(peer, channel); !ok) return base::fail(ok.error());
  if (side.own - side.others < kLaneSlots) return side.own % kLaneSlots;
  if (left(peer)) return base::fail(gone(peer, "has left and accepts no more messages"));
  return std::nullopt;
}

void Mailbox::offer(int peer, int channel, const Descriptor& descriptor) {
  Side& side = out(peer, channel);
  Lane& lane = block_.lane(rank_, peer, channel);
  lane.slots[side.own % kLaneSlots] = descriptor;
  side.counters.add_message(descriptor.bytes, sizeof(Descriptor));
  lane.posted.store(++side.own, std::memory_order_release);
  ring(block_.wake_event(peer));
}

Result<std::uint64_t> Mailbox::consumed(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return base::fail(ok.error());
  // the peer's presence must be read before the counter, so that messages that the peer consumed
  // before leaving count
  const bool absent = left(peer);
  if (auto ok = read_consumed(peer, channel); !ok) return base::fail(ok.error());
  const Side& side = out(peer, channel);
  if (absent && side.others < side.own) {
    if (is_loss_allowed(peer)) return side.own - side.first;
    return base::fail(gone(peer, "has left without consuming all messages posted to it"));
  }
  return side.others - side.first;
}

Result<void> Mailbox::read_posted(int peer, int channel) {
  Side& side = in(peer, channel);
  const std::uint64_t count =
      block_.lane(peer, rank_, channel).posted.load(std::memory_order_acquire);
  if (count < side.others || count - side.own > kLaneSlots)
    return base::fail(
        broken("bad_counter", peer, "reports more posted messages than its channel can hold"));
  side.others = count;
  return {};
}

Result<std::optional<Mailbox::Arrival>> Mailbox::oldest(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return base::fail(ok.error());
  Side& side = in(peer, channel);
  if (side.own == side.others) {
    // the peer's presence must be read before the counter, so that messages that the peer posted
    // before leaving count
    const bool absent = left(peer);
    if (auto ok = read_posted(peer, channel); !ok) return base::fail(ok.error());
    if (absent && side.own == side.others && !is_loss_allowed(peer))
      return base::fail(gone(peer, "has left and sends no more messages"));
  }
  if (side.own == side.others) return std::nullopt;
  const std::uint64_t slot = side.own % kLaneSlots;
  return Arrival{block_.lane(peer, rank_, channel).slots[slot], slot};
}

Result<void> Mailbox::release(int peer, int channel) {
  if (auto ok = check(peer, channel); !ok) return ok;
  Side& side = in(peer, channel);
  if (side.own == side.others)
    return base::fail(
        broken("nothing_to_release", peer, "has sent no message that could be released"));
  Lane& lane = block_.lane(peer, rank_, channel);
  side.counters.add_message(lane.slots[side.own % kLaneSlots].bytes, sizeof(Descriptor));
  lane.consumed.store(++side.own, std::memory_order_release);
  ring(block_.wake_event(peer));
  return {};
}

Traffic Mailbox::traffic(int peer) const {
  Traffic sum;
  if (peer < 0 || peer >= block_.ranks()) return sum;
  for (std::size_t i = index(peer, 0); i < index(peer + 1, 0); ++i) {
    sum.sent_payload_bytes += out_[i].counters.payload_bytes.get();
    sum.sent_header_bytes += out_[i].counters.header_bytes.get();
    sum.sent_messages += out_[i].counters.messages.get();
    sum.received_payload_bytes += in_[i].counters.payload_bytes.get();
    sum.received_header_bytes += in_[i].counters.header_bytes.get();
    sum.received_messages += in_[i].counters.messages.get();
  }
  return sum;
}

}  // namespace trainyard::comm
