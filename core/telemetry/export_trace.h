// SPDX-License-Identifier: GPL-3.0-or-later
// The ops of a run in the Trace Event Format of Chrome, which Perfetto reads too (JSON object form,
// complete events "X", times in microseconds of the ranks' own clock): pid = rank, tid = lane.
// Waiting for a peer (begin to ready) is a slice "wait" of its own before the op's.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace trainyard::telemetry {

// What the numbers in op events mean, as the recorded plan of a rank says it.
struct OpNames {
  struct Op {
    std::string token, lane;
  };
  struct Program {
    std::string name;
    std::vector<Op> ops;
  };
  std::vector<Program> programs;
};

// Every op of the recording in `run_directory`, frame by frame: nothing is kept in memory. `names`
// by rank; an op without a name is shown by its numbers, on a lane of its own. A torn tail ends the
// trace; damage is a Problem, after valid JSON was written up to there; so is a stream that fails.
base::Result<void> export_trace(const std::filesystem::path& run_directory,
                                const std::vector<OpNames>& names, std::ostream& out);

}  // namespace trainyard::telemetry
