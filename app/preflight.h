// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of the other machines of an experiment before a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/session/hosts/probe.h"

namespace trainyard::app {

// Result of one check of one host.
struct CheckRow {
  std::string host;  // name of the drawn host; of a network check: "host1 -> host2"
  // "connection", "machine", "cores", "memory", "disk", "gpus", "clock" or "network"
  std::string check;
  std::string text;                                 // what was found
  std::optional<base::Problem> problem{};           // if the check failed
  std::optional<session::ProbeFigures> measured{};  // of a network check
};

// Connects to each drawn host that has the address of another machine, and compares it with the
// drawing. Hosts are checked at the same time. Then measures the network between all pairs of
// machines, in both directions, one after the other. Rows are reported as soon as they are known,
// hosts in the order of the drawing. `file_bytes`: size of the files that the ranks read.
void check_machines(const experiment::Experiment& experiment, std::int64_t file_bytes,
                    const std::function<void(CheckRow)>& report);

}  // namespace trainyard::app
