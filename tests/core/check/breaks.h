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

inline bool lane_out_of_range(Victim& victim) {
  const auto place = any_location(victim, [](const plan::Op&) { return true; });
  const auto lanes = static_cast<std::int32_t>(victim.ranks[place->rank].lanes.size());
  op_at(victim, *place).lane = plan::LaneId(*rc::gen::element<std::int32_t>(-1, lanes, 77));
  return true;
}

inline bool lane_of_another_kind(Victim& victim) {
  const auto place = any_location(victim, [](const plan::Op&) { return true; });
  const auto& lanes = victim.ranks[place->rank].lanes;
  const plan::LaneKind kind = lanes[op_at(victim, *place).lane.index()].kind;
  const auto other = std::find_if(lanes.begin(), lanes.end(),
                                  [&](const plan::Lane& lane) { return lane.kind != kind; });
  op_at(victim, *place).lane = plan::LaneId(static_cast<std::size_t>(other - lanes.begin()));
  return true;
}

inline bool access_beyond_its_buffer(Victim& victim) {
  const auto place = any_location(victim, [](const plan::Op& op) { return !op.writes.empty(); });
  plan::Access& access = op_at(victim, *place).writes.back();
  access.count +=
      victim.ranks[place->rank].buffers[access.buffer.index()].elements + 1 - access.first;
  return true;
}

inline bool dependency_that_nothing_satisfies(Victim& victim) {
  const auto place = any_location(victim, [](const plan::Op& op) { return !op.after.empty(); });
  if (place) op_at(victim, *place).after.back().sequence = 10'000;
  return place.has_value();
}

inline bool dependency_beyond_the_window(Victim& victim) {
  const auto place = any_location(victim, [](const plan::Op& op) { return !op.after.empty(); });
  if (place) op_at(victim, *place).after.back().steps_back = plan::Frontier::window - 1;
  return place.has_value();
}

inline bool samples_that_do_not_add_up(Victim& victim) {
  plan::RankPlan& rank = victim.ranks[any_rank(victim)];
  rank.programs[static_cast<std::size_t>(rank.program("train"))].samples += 1;
  return true;
}

inline bool missing_program(Victim& victim) {
  plan::RankPlan& rank = victim.ranks[any_rank(victim)];
  rank.programs[static_cast<std::size_t>(rank.program("train"))].name = "trains";
  return true;
}

inline bool group_with_a_duplicate_rank(Victim& victim) {
  plan::Group& group = victim.groups[static_cast<std::size_t>(
      plan::any_count(static_cast<int>(victim.groups.size()) - 1))];
  group.ranks.push_back(group.ranks.front());
  return true;
}

// Wrong orders
// ------------------------------------------------------------

// Returns the number of ops of the op's lane up to this op.
inline std::int32_t sequence_of(const std::vector<plan::Op>& ops, std::size_t op) {
  return static_cast<std::int32_t>(
      std::count_if(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(op + 1),
                    [&](const plan::Op& other) { return other.lane == ops[op].lane; }));
}

// Makes an op wait for one of those that wait for it.
inline bool cycle_of_dependencies(Victim& victim) {
  const auto waits = [](const plan::Op& op, const plan::Dependency& d) {
    return d.steps_back == 0 && d.sequence > 0 && d.lane != op.lane;
  };
  const auto place = any_location(victim, [&](const plan::Op& op) {
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

inline bool missing_dependency(Victim& victim) {
  for (int tries = 8; tries > 0; --tries) {
    Victim without = victim;
    const auto place = any_location(without, [](const plan::Op& op) { return !op.after.empty(); });
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
inline bool unordered_access(Victim& victim) {
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
      {"lane_out_of_range", Of::any, lane_out_of_range, {structure}},
      {"lane_of_another_kind", Of::any, lane_of_another_kind, {structure}},
      {"access_beyond_its_buffer", Of::any, access_beyond_its_buffer, {structure}},
      {"dependency_that_nothing_satisfies",
       Of::any,
       dependency_that_nothing_satisfies,
       {structure}},
      {"dependency_beyond_the_window", Of::any, dependency_beyond_the_window, {structure}},
      {"samples_that_do_not_add_up", Of::any, samples_that_do_not_add_up, {structure}},
      {"missing_program", Of::any, missing_program, {structure}},
      {"group_with_a_duplicate_rank", Of::any, group_with_a_duplicate_rank, {structure}},
      {"swapped_sends", Of::chunks, swapped_sends, {}, {matching, deadlock}, {order}},
      {"send_to_the_wrong_peer", Of::chunks, send_to_the_wrong_peer, {deadlock}, {}, {matching}},
      {"missing_receive", Of::chunks, missing_receive, {deadlock}, {}, {order, matching}},
      {"repeated_addition", Of::chunks, repeated_addition, {deadlock}, {}, {matching}},
      {"truncated_chunk", Of::chunks, truncated_chunk, {matching}},
      {"repeated_contribution", Of::ring, repeated_contribution, {meaning}, {}, {races}},
      {"overwritten_sum", Of::ring, overwritten_sum, {meaning}},
      {"shifted_chunk", Of::chunks, shifted_chunk, {meaning}, {}, {races}},
      {"update_from_an_element_that_is_not_summed",
       Of::any,
       update_from_an_element_that_is_not_summed,
       {meaning}},
      {"bucket_that_is_not_reduced",
       Of::coarse,
       bucket_that_is_not_reduced,
       {meaning},
       {},
       {races}},
      {"missing_member", Of::coarse, missing_member, {order, deadlock}, {}, {matching}},
      {"reordered_buckets", Of::coarse, reordered_buckets, {order}, {matching, deadlock}},
      {"cycle_of_dependencies", Of::any, cycle_of_dependencies, {deadlock}},
      {"missing_dependency", Of::steps, missing_dependency, {races}, {}, {meaning}},
      {"unordered_access", Of::steps, unordered_access, {races}},
  };
}

}  // namespace trainyard::check
