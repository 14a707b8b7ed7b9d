// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/stepper/run_collectives.h"

#include <algorithm>
#include <map>
#include <set>

#include "core/base/json.h"
#include "core/experiment/engine.h"
#include "core/experiment/fields.h"
#include "core/plan/text.h"
#include "core/strategy/strategy.h"

namespace trainyard::ui {
namespace {

// Adds the buckets of a group from the program of one of its members. A bucket that repeats in
// every micro-step is added once.
void add_buckets(const plan::RankPlan& rank, const std::string& program_name,
                 const plan::Group& group, int number, std::vector<RunBucket>& buckets) {
  const int at = rank.program(program_name);
  if (at < 0) return;
  const plan::Program& program = rank.programs[static_cast<std::size_t>(at)];
  std::set<std::int32_t> known;
  for (const plan::Op& op : program.ops) {
    const auto collective = collective::collective_of(op.kind);
    if (!collective || op.group != number || !known.insert(op.bucket).second) continue;
    const plan::Access& whole = op.writes.front();
    const plan::Buffer& buffer = rank.buffers[whole.buffer.index()];
    buckets.push_back({.group = number,
                       .number = op.bucket,
                       .collective = *collective,
                       .root = op.peer < 0 ? 0 : group.position(op.peer),
                       .ranks = {group.ranks.begin(), group.ranks.end()},
                       .elements = whole.count,
                       .dtype = buffer.dtype,
                       .row = op.row,
                       .token = plan::token(op),
                       .buffer = buffer.name,
                       .before_steps = plan::purpose(program.name) == plan::Purpose::start});
  }
}

// Returns the buckets of a full training step. A shorter step at the end of an epoch has the same
// buckets.
std::vector<RunBucket> buckets_of(const plan::Plan& plan) {
  std::vector<RunBucket> buckets;
  std::map<std::int32_t, plan::RankPlan> made;
  for (const char* program : {"train", "train_average", "start"})
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      const plan::Group& group = plan.groups[g];
      if (group.ranks.size() < 2) continue;
      const auto [first, fresh] = made.try_emplace(group.ranks.front());
      if (fresh) first->second = plan.rank_plan(group.ranks.front());
      add_buckets(first->second, program, group, static_cast<int>(g), buckets);
    }
  return buckets;
}

}  // namespace

bool RunCollectives::has_single_kind() const {
  return std::ranges::all_of(buckets, [&](const RunBucket& one) {
    return one.group == 0 && one.collective == buckets.front().collective;
  });
}

collective::Exercise RunCollectives::exercise(const RunBucket& bucket) const {
  collective::Exercise exercise{.collective = bucket.collective,
                                .hosts = {},
                                .root = bucket.root,
                                .elements = bucket.elements};
  exercise.algorithm = collective::program_algorithm(bucket.collective, algorithm);
  exercise.dtype = bucket.dtype;
  exercise.row = bucket.row;
  exercise.segment_bytes = segment_bytes;
  exercise.bucket = bucket.number;
  for (const int rank : bucket.ranks)
    exercise.hosts.push_back(hosts[static_cast<std::size_t>(rank)]);
  bool all_in_order = bucket.ranks.size() == hosts.size();
  for (std::size_t position = 0; position < bucket.ranks.size(); ++position)
    all_in_order = all_in_order && bucket.ranks[position] == static_cast<int>(position);
  if (!all_in_order) exercise.ranks = bucket.ranks;
  return exercise;
}

base::Result<RunCollectives> run_collectives(const base::Json& resolved) {
  const auto experiment = experiment::resolved_from_json(resolved);
  if (!experiment) return base::fail(experiment.error());
  return strategy::coarse_plan(*experiment).map([&](const plan::Plan& plan) {
    const auto& strategy = experiment->document.strategy;
    const experiment::Engine engine = experiment::engine_of(*experiment);
    const std::string other =
        engine == experiment::Engine::own ? "" : std::string(base::name_of(engine));
    return RunCollectives{experiment->hosts, strategy.algorithm,
                          other.empty() ? strategy.segment_bytes : 0, other, buckets_of(plan)};
  });
}

}  // namespace trainyard::ui
