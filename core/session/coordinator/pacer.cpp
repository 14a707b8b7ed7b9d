// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/pacer.h"

#include <algorithm>
#include <cmath>

namespace trainyard::session {

Pacer::Pacer(std::int64_t steps, double seconds_per_step, std::int64_t evaluate_every_steps,
             int together, double max_lead_seconds)
    : steps_(steps),
      seconds_per_step_(seconds_per_step),
      evaluate_every_steps_(evaluate_every_steps),
      together_(together),
      max_lead_seconds_(max_lead_seconds) {}

void Pacer::at_step(std::int64_t slowest) { slowest_ = std::max(slowest_, slowest); }

void Pacer::step_took(double seconds, int rank) {
  double& recent = of_rank_[max_lead_seconds_ > 0 ? rank : 0];
  recent = recent == 0 ? seconds : 0.8 * recent + 0.2 * seconds;
  step_seconds_ = 0;
  for (const auto& [of, its] : of_rank_) step_seconds_ = std::max(step_seconds_, its);
}

void Pacer::pause() { paused_ = true; }

void Pacer::resume() {
  paused_ = false;
  single_steps_ = 0;
}

void Pacer::single_step() {
  paused_ = true;
  ++single_steps_;
}

void Pacer::stop() { stopping_ = true; }

void Pacer::set_pace(double seconds_per_step) {
  seconds_per_step_ = std::max(0.0, seconds_per_step);
  next_paced_ns_ = 0;
}

std::optional<Horizon> Pacer::grant(std::int64_t now_ns) {
  const std::int64_t step = std::min(steps_, wanted(now_ns));
  const bool last = stopping_ || step == steps_;
  if (step == horizon_ && !(last && !announced_last_)) return std::nullopt;
  const bool single = step > horizon_ && step == stepped_to_;
  horizon_ = step;
  announced_last_ = last;
  return Horizon{horizon_, last, single};
}

std::int64_t Pacer::wanted(std::int64_t now_ns) {
  if (stopping_) return horizon_;
  if (paused_) {
    if (single_steps_ == 0 || !at_horizon()) return horizon_;
    --single_steps_;
    return stepped_to_ = horizon_ + 1;
  }
  if (seconds_per_step_ > 0) {
    if (!at_horizon() || now_ns < next_paced_ns_) return horizon_;
    next_paced_ns_ = now_ns + static_cast<std::int64_t>(seconds_per_step_ * 1e9);
    return horizon_ + 1;
  }
  return std::max(horizon_, full_speed());
}

// Returns the horizon at full speed. It lies at most two evaluations ahead, because an evaluation
// may take longer than many steps, and step times do not include it. So a stop waits for at most
// two evaluations.
std::int64_t Pacer::full_speed() const {
  // True if fast ranks may be ahead of the slowest rank. The step time of the slowest rank is
  // unknown before its first step.
  const bool apart = max_lead_seconds_ > 0 && slowest_ > 0;
  const double ahead = step_seconds_ > 0
                           ? std::ceil((apart ? max_lead_seconds_ : seconds_ahead) / step_seconds_)
                           : 2;
  const std::int64_t least = together_ > 1 ? slowest_ + 2 * together_ : 0,
                     step = slowest_ +
                            together_ * static_cast<std::int64_t>(std::clamp(ahead, 2.0, 1e9));
  return evaluate_every_steps_ > 0
             ? std::max(least, std::min(step, (slowest_ / evaluate_every_steps_ + 2) *
                                                  evaluate_every_steps_))
             : step;
}

}  // namespace trainyard::session
