// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/servers/update_average.h"

namespace trainyard::run {

UpdateAverage::UpdateAverage(const plan::Plan& plan, const plan::ArrivalRule& rule, int servers)
    : schedule_(plan.schedule) {
  // one gradient, or those of all workers in the same step
  const int trivial = rule.answers_after_update ? rule.workers : 1;
  if (servers > 1 || rule.gradients_per_update == trivial) return;
  const std::vector<std::string> training = schedule_.training();
  for (std::int32_t rank = 0; rank < rule.workers; ++rank) {
    const plan::RankPlan worker = plan.rank_plan(rank);
    auto& samples = workers_.emplace_back();
    for (const std::string& name : training)
      if (const int number = worker.program(name); number >= 0) {
        const plan::Program& program = worker.programs[static_cast<std::size_t>(number)];
        samples[name] = {program.samples, program.global_samples};
      }
  }
}

double UpdateAverage::factor(std::span<const std::pair<int, std::int64_t>> taken) const {
  if (workers_.empty()) return 1;
  std::int64_t samples = 0, divisor = 0;
  for (const auto& [worker, step] : taken) {
    const Samples& of = workers_[static_cast<std::size_t>(worker)].at(schedule_.program(step));
    samples += of.own;
    divisor = of.divisor;
  }
  return samples == divisor || samples == 0
             ? 1
             : static_cast<double>(divisor) / static_cast<double>(samples);
}

}  // namespace trainyard::run
