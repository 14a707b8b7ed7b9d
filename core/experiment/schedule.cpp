// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {
namespace {

double warm_up(const ScheduleSpec& schedule, std::int64_t step) {
  if (step >= schedule.warmup_steps) return 1;
  return static_cast<double>(step + 1) / static_cast<double>(schedule.warmup_steps);
}

// Returns 1 at the first step after the warm-up, falling to the final fraction at the last step of
// the run.
double cosine(const ScheduleSpec& schedule, std::int64_t step, std::int64_t steps) {
  const std::int64_t done = step - schedule.warmup_steps, last = steps - 1 - schedule.warmup_steps;
  if (done <= 0 || last <= 0) return 1;
  const double progress = std::min(1.0, static_cast<double>(done) / static_cast<double>(last));
  return schedule.final_fraction +
         (1 - schedule.final_fraction) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double scheduled(const ScheduleSpec& schedule, std::int64_t step, std::int64_t steps) {
  switch (schedule.kind) {
    case ScheduleKind::constant: return 1;
    case ScheduleKind::step:
      return std::pow(schedule.factor, static_cast<double>(step / schedule.every_steps));
    case ScheduleKind::cosine: return cosine(schedule, step, steps);
  }
  return 1;
}

}  // namespace

double learning_rate(const TrainingSpec& training, std::int64_t step, std::int64_t steps) {
  return training.optimizer.learning_rate * warm_up(training.schedule, step) *
         scheduled(training.schedule, step, steps);
}

}  // namespace trainyard::experiment
