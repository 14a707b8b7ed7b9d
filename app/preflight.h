// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of the other machines of an experiment before a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::app {

// Result of one check of one host.
struct CheckRow {
  std::string host;                        // name of the drawn host
  std::string check;                       // "connection", "machine", "cores", "memory" or "clock"
  std::string text;                        // what was found
  std::optional<base::Problem> problem{};  // if the check failed
};

// Connects to each drawn host that has the address of another machine, and compares it with the
// drawing. Hosts are checked at the same time. Rows are in the order of the drawing.
std::vector<CheckRow> check_machines(const experiment::Experiment& experiment);

}  // namespace trainyard::app
