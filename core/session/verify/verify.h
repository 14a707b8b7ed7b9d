// SPDX-License-Identifier: GPL-3.0-or-later
// Verification of a finished run. It recomputes what the result of the run states: totals and
// losses from the events of its recording, and the held-out figures from its checkpoint.
//
// Counts, bytes and hashes must be equal. Sums of floating-point numbers may differ by
// kSumTolerance (relative). The evaluation of the checkpoint is bit-equal if it adds in the order
// of the run: same batch, same kind of device, layers not split among ranks. Otherwise the loss may
// differ by kEvaluationTolerance (relative) and the accuracy by the same number (absolute). If
// factors are rounded to 16 bits or tf32, this number is kRoundedTolerance.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/session/verify/checkpoint_evaluation.h"
#include "core/session/verify/figure_check.h"

namespace trainyard::session {

inline constexpr double kSumTolerance = 1e-12;
inline constexpr double kEvaluationTolerance = 1e-5, kRoundedTolerance = 1e-3;

struct Verification {
  std::vector<FigureCheck> checks;
  std::string damage;  // Damage of the recording; empty if there is none.

  std::int64_t count(CheckStatus status) const;
  bool matches() const { return count(CheckStatus::mismatch) == 0; }
};

// Verifies the run in `run_directory`. Returns a Problem if the directory has no readable recording
// or resolved experiment, or if the run has no result because it was killed or still runs.
base::Result<Verification> verify_run(const std::filesystem::path& run_directory,
                                      const MakeCompute& make_compute);

}  // namespace trainyard::session
