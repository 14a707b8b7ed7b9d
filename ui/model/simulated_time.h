// SPDX-License-Identifier: GPL-3.0-or-later
// When a run's steps would be over by the drawn speeds: its plan on a virtual clock. May take long
// to make: not on the GUI thread.
#pragma once

#include <stop_token>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/sim/simulator.h"

namespace trainyard::ui {

struct SimulatedTime {
  sim::Outcome outcome;
  plan::Schedule schedule;
  double seconds_until(std::int64_t step) const {
    return sim::seconds_until(step, outcome, schedule);
  }  // sim::seconds_until
};

// Of an experiment as a recording's header holds it, resolved. Problems: those of reading, planning
// and simulating it.
base::Result<SimulatedTime> simulated_time(const base::Json& recorded_experiment,
                                           std::stop_token stop);

}  // namespace trainyard::ui
