// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/core/check/break_together.h"

namespace trainyard::check {
namespace {

// Swaps an op with the next of the rank's ops that are alike; false where it is the last of them.
bool swap_with_next(Victim& victim, const OpLocation& place, const OpTest& alike) {
  const auto line = victim.find(place.rank, alike);
  const auto next = std::upper_bound(line.begin(), line.end(), place.op);
  if (next == line.end()) return false;
  std::swap(op_at(victim, place), victim.train(place.rank)[*next]);
  return true;
}

// True if a communicating op of the rank accesses an element of a buffer.
bool is_reduced(Victim& victim, std::size_t rank, plan::BufferId buffer, std::int64_t element) {
  const std::vector<plan::Access> wanted{{buffer, element, 1}};
  const OpTest touches = [&](const plan::Op& op) {
    return plan::communicates(op.kind) && (overlap(op.reads, wanted) || overlap(op.writes, wanted));
  };
  return !victim.find(rank, touches).empty();
}

}  // namespace

std::optional<OpLocation> any_location(
    Victim& victim, const std::function<bool(std::size_t rank, const plan::Op&)>& fits) {
  std::vector<OpLocation> all;
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    for (const std::size_t op :
         victim.find(rank, [&](const plan::Op& one) { return fits(rank, one); }))
      all.push_back({rank, op});
  if (all.empty()) return std::nullopt;
  return all[static_cast<std::size_t>(plan::any_count(static_cast<int>(all.size()) - 1))];
}

bool swapped_sends(Victim& victim) {
  const auto place = any_location(victim, sends);
  if (!place) return false;
  const plan::Op first = op_at(victim, *place);
  return swap_with_next(victim, *place, [&](const plan::Op& op) {
    return sends(op) && op.group == first.group && op.peer == first.peer;
  });
}

bool send_to_the_wrong_peer(Victim& victim) {
  const auto members = [&](const plan::Op& op) {
    return victim.groups[static_cast<std::size_t>(op.group)].ranks;
  };
  const auto place =
      any_location(victim, [&](const plan::Op& op) { return sends(op) && members(op).size() > 2; });
  if (!place) return false;
  plan::Op& op = op_at(victim, *place);
  for (const std::int32_t other : any_order(members(op)))
    if (other != op.peer && other != static_cast<std::int32_t>(place->rank)) {
      op.peer = other;
      return true;
    }
  return false;
}

bool missing_receive(Victim& victim) {
  const auto place = any_location(victim, receives);
  if (place) victim.remove(place->rank, place->op);
  return place.has_value();
}

bool repeated_addition(Victim& victim) {
  const auto place = any_location(victim, adds);
  if (place) victim.repeat(place->rank, place->op);
  return place.has_value();
}

bool truncated_chunk(Victim& victim) {
  const auto place = any_location(victim, sends);
  if (place) op_at(victim, *place).reads[0].count -= 1;
  return place.has_value();
}

bool repeated_contribution(Victim& victim) {
  const auto place = any_location(victim, adds);
  if (!place) return false;
  const plan::Op add = op_at(victim, *place);
  const auto peer = static_cast<std::size_t>(add.peer);
  const auto in_place = [&](const plan::Op& op) {
    return op.group == add.group && op.bucket == add.bucket && op.round == add.round;
  };
  // A bucket may be reduced again in the next micro-step: the k-th addition meets the k-th send.
  const auto additions = victim.find(
      place->rank, [&](const plan::Op& op) { return op.kind == add.kind && in_place(op); });
  const auto sent = victim.find(
      peer, [&](const plan::Op& op) { return op.kind == plan::OpKind::send && in_place(op); });
  victim.repeat(peer,
                sent.at(static_cast<std::size_t>(
                    std::find(additions.begin(), additions.end(), place->op) - additions.begin())));
  victim.repeat(place->rank, place->op);
  return true;
}

bool overwritten_sum(Victim& victim) {
  const auto place = any_location(victim, adds);
  if (!place) return false;
  plan::Op& op = op_at(victim, *place);
  op.kind = plan::OpKind::recv;
  op.reads.clear();
  return true;
}

bool shifted_chunk(Victim& victim) {
  const int shift = any_bool() ? 1 : -1;
  const auto has_room = [&](std::size_t rank, const plan::Access& span) {
    return span.first + shift >= 0 && span.first + span.count + shift <=
                                          victim.ranks[rank].buffers[span.buffer.index()].elements;
  };
  const auto place = any_location(
      victim, [&](std::size_t rank,
                  const plan::Op& op) {  // an offloaded sum reads and writes two buffers
        return receives(op) && has_room(rank, op.writes[0]) &&
               (op.reads.empty() || has_room(rank, op.reads[0]));
      });
  if (!place) return false;
  plan::Op& op = op_at(victim, *place);
  op.writes[0].first += shift;
  if (!op.reads.empty()) op.reads[0].first += shift;
  return true;
}

bool update_from_an_element_that_is_not_summed(Victim& victim) {
  const auto place = any_location(victim, [&](std::size_t rank, const plan::Op& op) {
    if (op.kind != plan::OpKind::update) return false;
    const plan::Access& span = op.reads[0];
    const std::int64_t end = span.first + span.count;
    return end < victim.ranks[rank].buffers[span.buffer.index()].elements &&
           is_reduced(victim, rank, span.buffer, end - 1) &&
           !is_reduced(victim, rank, span.buffer, end);
  });
  if (place) op_at(victim, *place).reads[0].count += 1;
  return place.has_value();
}

bool bucket_that_is_not_reduced(Victim& victim) {
  const auto place = any_location(victim, is_all_reduce);
  if (!place) return false;
  const plan::Op sum = op_at(victim, *place);
  for (const std::int32_t rank : victim.groups[static_cast<std::size_t>(sum.group)].ranks) {
    const auto member = static_cast<std::size_t>(rank);
    victim.remove(member, victim.first(member, [&](const plan::Op& op) {
      return is_all_reduce(op) && op.group == sum.group && op.bucket == sum.bucket;
    }));
  }
  return true;
}

bool missing_member(Victim& victim) {
  const auto place = any_location(victim, is_all_reduce);
  if (place) victim.remove(place->rank, place->op);
  return place.has_value();
}

bool reordered_buckets(Victim& victim) {
  const auto place = any_location(victim, is_all_reduce);
  if (!place) return false;
  const std::int32_t group = op_at(victim, *place).group;
  return swap_with_next(victim, *place,
                        [&](const plan::Op& op) { return is_all_reduce(op) && op.group == group; });
}

}  // namespace trainyard::check
