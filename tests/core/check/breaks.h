// SPDX-License-Identifier: GPL-3.0-or-later
// The ways to break a plan, each at a random place, and what the checker must find. Call inside a
// property.
#pragma once

#include <ostream>

#include "core/plan/frontier.h"
#include "tests/core/check/break_together.h"

namespace trainyard::check {

// Plans to which a break applies.
enum class Of {
  steps,   // a random graph without tail and evaluation, coarse
  coarse,  // broken coarse, looked at coarse or expanded
  chunks,  // expanded
  ring,    // expanded by this algorithm
  any,     // coarse or expanded
};

struct Break {
  const char* name;
  Of of;
  bool (*apply)(Victim&);     // false: the plan has no place for it
  std::set<Proof> must = {};  // all of these fail,
  std::set<Proof> one = {};   // one of these,
  std::set<Proof> may = {};   // and nothing but all these
};

inline void PrintTo(const Break& broken, std::ostream* out) { *out << broken.name; }

// Numbers that name nothing
// -------------------------------------------------------------------------------------------

inline bool a_lane_out_of_range(Victim& victim) {
  const auto place = any_place(victim, [](const plan::Op&) { return true; });
  const auto lanes = static_cast<std::int32_t>(victim.ranks[place->rank].lanes.size());
  op_at(victim, *place).lane = plan::LaneId(*rc::gen::element<std::int32_t>(-1, lanes, 77));
  return true;
}

inline bool a_lane_of_another_kind(Victim& victim) {
  const auto place = any_place(victim, [](const plan::Op&) { return true; });
  const auto& lanes = victim.ranks[place->rank].lanes;
  const plan::LaneKind kind = lanes[op_at(victim, *place).lane.index()].kind;
  const auto other = std::find_if(lanes.begin(), lanes.end(),
                                  [&](const plan::Lane& lane) { return lane.kind != kind; });
  op_at(victim, *place).lane = plan::LaneId(static_cast<std::size_t>(other - lanes.begin()));
  return true;
}

inline bool an_access_beyond_its_buffer(Victim& victim) {
  const auto place = any_place(victim, [](const plan::Op& op) { return !op.writes.empty(); });
  plan::Access& access = op_at(victim, *place).writes.back();
  access.count +=
      victim.ranks[place->rank].buffers[access.buffer.index()].elements + 1 - access.first;
  return true;
}

inline bool a_wait_for_what_never_comes(Victim& victim) {
  const auto place = any_place(victim, [](const plan::Op& op) { return !op.after.empty(); });
  if (place) op_at(victim, *place).after.back().sequence = 10'000;
  return place.has_value();
}

inline bool a_wait_for_a_step_that_is_forgotten(Victim& victim) {
  const auto place = any_place(victim, [](const plan::Op& op) { return !op.after.empty(); });
  if (place) op_at(victim, *place).after.back().steps_back = plan::Frontier::window - 1;
  return place.has_value();
}

inline bool samples_that_do_not_add_up(Victim& victim) {
  plan::RankPlan& rank = victim.ranks[any_rank(victim)];
  rank.programs[static_cast<std::size_t>(rank.program("train"))].samples += 1;
  return true;
}

inline bool a_program_that_is_not_there(Victim& victim) {
  plan::RankPlan& rank = victim.ranks[any_rank(victim)];
  rank.programs[static_cast<std::size_t>(rank.program("train"))].name = "trains";
  return true;
}

inline bool a_group_that_names_a_rank_twice(Victim& victim) {
  plan::Group& group = victim.groups[static_cast<std::size_t>(
      plan::any_count(static_cast<int>(victim.groups.size()) - 1))];
  group.ranks.push_back(group.ranks.front());
  return true;
}

// Orders that are wrong
// ------------------------------------------------------------

// How many ops of its lane there are up to an op.
inline std::int32_t sequence_of(const std::vector<plan::Op>& ops, std::size_t op) {
  return static_cast<std::int32_t>(
      std::count_if(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(op + 1),
                    [&](const plan::Op& other) { return other.lane == ops[op].lane; }));
}

// Makes an op wait for one of those that wait for it.
inline bool a_circle_of_waiting(Victim& victim) {
  const auto waits = [](const plan::Op& op, const plan::Dependency& d) {
    return d.steps_back == 0 && d.sequence > 0 && d.lane != op.lane;
  };
  const auto place = any_place(victim, [&](const plan::Op& op) {
    return std::any_of(op.after.begin(), op.after.end(),
                       [&](const auto& d) { return waits(op, d); });
  });
  if (!place) return false;
  auto& ops = victim.train(place->rank);
  const plan::Op& late = ops[place->op];
  const plan::Dependency wait = *std::find_if(late.after.begin(), late.after.end(),
                                              [&](const auto& d) { return waits(late, d); });
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i].lane == wait.lane && sequence_of(ops, i) == wait.sequence) {
      ops[i].after.push_back({late.lane, sequence_of(ops, place->op), 0});
      return true;
    }
  return false;
}

inline bool a_wait_that_matters_forgotten(Victim& victim) {
  for (int tries = 8; tries > 0; --tries) {
    Victim without = victim;
    const auto place = any_place(without, [](const plan::Op& op) { return !op.after.empty(); });
    if (!place) return false;
    auto& after = op_at(without, *place).after;
    after.erase(after.begin() + plan::any_count(static_cast<int>(after.size()) - 1));
    if (!HappensBefore(without).races(place->rank)) continue;
    victim = without;
    return true;
  }
  return false;
}

// Two ops without an order: now one writes what the other reads.
inline bool an_access_that_nothing_orders(Victim& victim) {
  const std::size_t rank = any_rank(victim);
  auto& ops = victim.train(rank);
  auto pairs = HappensBefore(victim).unordered(rank);
  std::erase_if(pairs, [&](const auto& pair) {
    return plan::communicates(ops[pair.first].kind) || plan::communicates(ops[pair.second].kind);
  });
  if (pairs.empty()) return false;
  const auto [writer, reader] =
      pairs[static_cast<std::size_t>(plan::any_count(static_cast<int>(pairs.size()) - 1))];
  const plan::Access element{plan::BufferId(1), 0, 1};
  ops[writer].writes.push_back(element);
  ops[reader].reads.push_back(element);
  return true;
}

inline std::vector<Break> breaks() {
  using enum Proof;
  return {
      {"a_lane_out_of_range", Of::any, a_lane_out_of_range, {structure}},
      {"a_lane_of_another_kind", Of::any, a_lane_of_another_kind, {structure}},
      {"an_access_beyond_its_buffer", Of::any, an_access_beyond_its_buffer, {structure}},
      {"a_wait_for_what_never_comes", Of::any, a_wait_for_what_never_comes, {structure}},
      {"a_wait_for_a_step_that_is_forgotten",
       Of::any,
       a_wait_for_a_step_that_is_forgotten,
       {structure}},
      {"samples_that_do_not_add_up", Of::any, samples_that_do_not_add_up, {structure}},
      {"a_program_that_is_not_there", Of::any, a_program_that_is_not_there, {structure}},
      {"a_group_that_names_a_rank_twice", Of::any, a_group_that_names_a_rank_twice, {structure}},
      {"two_sends_swapped", Of::chunks, two_sends_swapped, {}, {matching, deadlock}, {order}},
      {"a_send_to_the_wrong_peer",
       Of::chunks,
       a_send_to_the_wrong_peer,
       {deadlock},
       {},
       {matching}},
      {"a_receive_that_is_missing",
       Of::chunks,
       a_receive_that_is_missing,
       {deadlock},
       {},
       {order, matching}},
      {"an_addition_done_twice", Of::chunks, an_addition_done_twice, {deadlock}, {}, {matching}},
      {"a_chunk_cut_short_at_one_end", Of::chunks, a_chunk_cut_short_at_one_end, {matching}},
      {"a_contribution_sent_and_added_twice",
       Of::ring,
       a_contribution_sent_and_added_twice,
       {meaning},
       {},
       {races}},
      {"a_sum_replaced_instead_of_added", Of::ring, a_sum_replaced_instead_of_added, {meaning}},
      {"a_chunk_received_one_element_off",
       Of::chunks,
       a_chunk_received_one_element_off,
       {meaning},
       {},
       {races}},
      {"an_update_from_an_element_that_nobody_sums",
       Of::any,
       an_update_from_an_element_that_nobody_sums,
       {meaning}},
      {"a_bucket_that_nobody_sums", Of::coarse, a_bucket_that_nobody_sums, {meaning}, {}, {races}},
      {"a_member_that_takes_no_part",
       Of::coarse,
       a_member_that_takes_no_part,
       {order, deadlock},
       {},
       {matching}},
      {"buckets_in_another_order_on_one_rank",
       Of::coarse,
       buckets_in_another_order_on_one_rank,
       {order},
       {matching, deadlock}},
      {"a_circle_of_waiting", Of::any, a_circle_of_waiting, {deadlock}},
      {"a_wait_that_matters_forgotten",
       Of::steps,
       a_wait_that_matters_forgotten,
       {races},
       {},
       {meaning}},
      {"an_access_that_nothing_orders", Of::steps, an_access_that_nothing_orders, {races}},
  };
}

}  // namespace trainyard::check
