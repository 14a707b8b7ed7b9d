// SPDX-License-Identifier: GPL-3.0-or-later
// Sweeps for tests: as planned, and as if they had been measured.
#pragma once

#include "core/session/sweep/sweep.h"
#include "tests/core/strategy/experiments.h"

namespace trainyard::session {

inline experiment::Experiment four_ranks() {
  experiment::Experiment e = strategy::small(4);
  e.name = "small";
  return e;
}

// Returns a completed variant with `samples` samples in `seconds` seconds.
inline SweepVariant measured(std::int64_t ranks, collective::Algorithm algorithm,
                             std::int64_t samples, double seconds) {
  SweepVariant one;
  one.ranks = ranks;
  one.algorithm = one.used = algorithm;
  one.state = VariantState::done;
  one.directory = std::to_string(ranks) + "_" + std::string(base::name_of(algorithm));
  one.began_unix_seconds = 1000;
  one.seconds = 10;
  one.measured_steps = 40;
  one.step_samples = samples;
  one.median_step_seconds = seconds;
  one.p95_step_seconds = 2 * seconds;
  one.sent_bytes = one.formula_sent_bytes = 50 * 2 * (ranks - 1) * 1000;
  one.busiest_sent_bytes = one.formula_busiest_sent_bytes = one.sent_bytes / ranks;
  one.simulated_step_seconds = seconds / 2;
  return one;
}

// 1, 2 and 4 ranks with 8 samples each: 1000, 1600 and 2000 or 2500 samples a second.
inline Sweep measured_sweep() {
  using collective::Algorithm;
  Sweep sweep;
  sweep.name = "small";
  sweep.started = "2026-11-21 14:03:12";
  sweep.state = SweepState::completed;
  sweep.drawn_ranks = 4;
  sweep.variants = {measured(1, Algorithm::ring, 8, 0.008), measured(2, Algorithm::ring, 16, 0.010),
                    measured(2, Algorithm::direct, 16, 0.010),
                    measured(4, Algorithm::ring, 32, 0.016),
                    measured(4, Algorithm::direct, 32, 0.0128)};
  return sweep;
}

}  // namespace trainyard::session
