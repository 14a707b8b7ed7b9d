// SPDX-License-Identifier: GPL-3.0-or-later
// End times of a run's steps, predicted for the drawn speeds. They are computed by simulating the
// run's plan on a virtual clock. This may take long: do not call it on the GUI thread.
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
  }  // as `sim::seconds_until`
};

// Simulates the resolved experiment that the header of a recording contains. Errors: those of
// reading, planning and simulating the experiment.
base::Result<SimulatedTime> simulated_time(const base::Json& recorded_experiment,
                                           std::stop_token stop);

}  // namespace trainyard::ui
