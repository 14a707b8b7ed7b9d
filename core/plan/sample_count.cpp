// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/plan/sample_count.h"

#include <algorithm>

namespace trainyard::plan {

SampleCount samples_to_average(const RankPlan& rank, const Schedule& schedule, std::int64_t step) {
  const std::int64_t interval = std::max<std::int64_t>(schedule.local_steps, 1);
  SampleCount count;
  for (std::int64_t local = step - step % interval; local <= step; ++local) {
    const int number = rank.program(schedule.program(local));
    if (number < 0) continue;
    const Program& program = rank.programs[static_cast<std::size_t>(number)];
    count.rank += program.samples;
    count.all_ranks += program.global_samples;
  }
  return count;
}

std::set<SampleCount> all_samples_to_average(const RankPlan& rank, const Schedule& schedule) {
  std::set<SampleCount> counts;
  for (std::int64_t step = 0; step < schedule.steps; ++step)
    if (schedule.ends_local_steps(step) || schedule.evaluates_after(step) ||
        schedule.averages_after(step))
      counts.insert(samples_to_average(rank, schedule, step));
  return counts;
}

}  // namespace trainyard::plan
