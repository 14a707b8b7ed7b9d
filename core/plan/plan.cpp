// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/plan.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace trainyard::plan {
namespace {

constexpr const char* kAveraging = "_average";

template <class NamedItems>
std::ptrdiff_t index_by_name(const NamedItems& items, std::string_view name) {
  const auto at =
      std::find_if(items.begin(), items.end(), [&](const auto& item) { return item.name == name; });
  return at == items.end() ? -1 : at - items.begin();
}

}  // namespace

BufferId RankPlan::buffer(std::string_view name) const {
  return BufferId(static_cast<std::int32_t>(index_by_name(buffers, name)));
}
int RankPlan::program(std::string_view name) const {
  return static_cast<int>(index_by_name(programs, name));
}

int Group::position(std::int32_t rank) const {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  return at == ranks.end() ? -1 : static_cast<int>(at - ranks.begin());
}

Purpose purpose(std::string_view program) {
  if (program == "start") return Purpose::start;
  if (program == "end") return Purpose::end;
  if (program == "turn" || program == "last" || program == "leave") return Purpose::exchange;
  if (program == "arrival" || program == "update" || program == "answer" || program == "named")
    return Purpose::arrival;
  if (program == "average") return Purpose::average;
  return program.starts_with("evaluate") ? Purpose::evaluation : Purpose::training;
}

std::string Schedule::tail_name(std::size_t number) {
  return number == 0 ? "tail" : "tail" + std::to_string(number + 1);
}

std::int64_t Schedule::steps_per_epoch() const {
  return std::accumulate(tails.begin(), tails.end(), full_steps_per_epoch);
}

std::string Schedule::averaging(std::string program) { return std::move(program) + kAveraging; }
bool Schedule::is_averaging(std::string_view program) {
  return purpose(program) == Purpose::training && program.ends_with(kAveraging);
}

std::string Schedule::program(std::int64_t step) const {
  std::string name = stretch(step);
  return ends_local_steps(step) ? averaging(std::move(name)) : name;
}

std::string Schedule::stretch(std::int64_t step) const {
  if (steps_per_epoch() == full_steps_per_epoch) return "train";
  std::int64_t left = step % steps_per_epoch() - full_steps_per_epoch;
  if (left < 0) return "train";
  std::size_t number = 0;
  while (left >= tails[number]) left -= tails[number++];
  return tail_name(number);
}

std::vector<std::string> Schedule::training() const {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (local_steps != 1) names.push_back(name);
    if (local_steps > 0) names.push_back(averaging(name));
  };
  if (full_steps_per_epoch > 0) add("train");
  for (std::size_t t = 0; t < tails.size(); ++t) add(tail_name(t));
  return names;
}

const Access* carried(const Op& op) {
  const auto& spans = op.kind == OpKind::push || op.kind == OpKind::give ? op.reads : op.writes;
  return spans.empty() ? nullptr : &spans.front();
}

bool is_evaluator(const RankPlan& rank) {
  return !rank.programs.empty() && std::ranges::all_of(rank.programs, [](const Program& one) {
    return purpose(one.name) == Purpose::evaluation;
  });
}

Plan without_evaluators(Plan plan) {
  while (plan.ranks > 1 && is_evaluator(plan.rank_plan(plan.ranks - 1))) --plan.ranks;
  return plan;
}

bool Schedule::evaluates_after(std::int64_t step) const {
  return evaluate_every_steps > 0 && ((step + 1) % evaluate_every_steps == 0 || step + 1 == steps);
}

bool Schedule::averages_after(std::int64_t step) const {
  return evaluates_after(step) || step + 1 == steps ||
         (average_every_steps > 0 && (step + 1) % average_every_steps == 0);
}

Plan from_ranks(std::vector<Group> groups, Schedule schedule, std::vector<RankPlan> ranks) {
  const auto all = std::make_shared<const std::vector<RankPlan>>(std::move(ranks));
  return {static_cast<std::int32_t>(all->size()), std::move(groups), schedule,
          [all](std::int32_t rank) { return (*all)[static_cast<std::size_t>(rank)]; }};
}

bool coarse(OpKind kind) { return kind >= OpKind::all_reduce && kind <= OpKind::gather; }
bool reads_peers(OpKind kind) {
  return kind == OpKind::recv || kind == OpKind::recv_reduce || kind == OpKind::reduce_many;
}
bool names_destination(OpKind kind) {
  return kind == OpKind::send || kind == OpKind::reduce || kind == OpKind::gather ||
         kind == OpKind::push;
}
bool serves(OpKind kind) { return kind >= OpKind::turn && kind <= OpKind::give; }
bool gossips_in_pairs(OpKind kind) { return kind >= OpKind::offer && kind <= OpKind::answer; }

std::int64_t max_message_bytes(const RankPlan& rank) {
  std::int64_t most = 0;
  for (const Program& program : rank.programs)
    for (const Op& op : program.ops) {
      if (!communicates(op.kind) && !serves(op.kind) && !gossips_in_pairs(op.kind)) continue;
      for (const auto* accesses : {&op.reads, &op.writes})
        for (const Access& access : *accesses)
          most = std::max(most,
                          access.count * base::size_of(rank.buffers[access.buffer.index()].dtype));
    }
  return most;
}

bool communicates(OpKind kind) {
  return coarse(kind) || kind == OpKind::send || reads_peers(kind) || kind == OpKind::copy;
}

const std::vector<std::int32_t>& summands(const Op& op, const std::vector<Group>& groups) {
  return op.summands.empty() ? groups[static_cast<std::size_t>(op.group)].ranks : op.summands;
}

}  // namespace trainyard::plan
