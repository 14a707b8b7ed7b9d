// SPDX-License-Identifier: GPL-3.0-or-later
// Ops of a run in Chrome's Trace Event Format, which Perfetto also reads (JSON object form,
// complete events "X", times in microseconds on the ranks' clocks): pid = rank, tid = track. Slices
// of one track never overlap, as Perfetto requires. A lane has one track, and further ones, such as
// "send (2)", while several of its ops are in flight. Waiting for a peer (begin to ready) is a
// separate slice "wait" before the op.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <ostream>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace trainyard::telemetry {

// Names of the ops in op events, which contain only numbers. They come from the recorded plan of a
// rank.
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

// Writes every op of the recording in `run_directory`, frame by frame, in constant memory. `names`
// is by rank; an op without a name is shown by its numbers, on a separate lane. The trace ends at
// an incomplete last frame. Returns a Problem if a frame is damaged (after valid JSON up to that
// frame), and if writing to the stream fails.
base::Result<void> export_trace(const std::filesystem::path& run_directory,
                                const std::vector<OpNames>& names, std::ostream& out);

}  // namespace trainyard::telemetry
