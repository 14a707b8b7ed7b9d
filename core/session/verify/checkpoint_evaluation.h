// SPDX-License-Identifier: GPL-3.0-or-later
// Evaluation of a saved checkpoint on the held-out samples, in one process. It runs the plan of an
// evaluator rank (strategy::evaluator) with the code of that rank (core/session/rank/evaluator.h).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "core/compute/compute.h"
#include "core/experiment/resolve.h"

namespace trainyard::session {

using MakeCompute =
    std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>;

struct EvaluatedCheckpoint {
  std::int64_t step = 0;  // Number of steps for which the parameters were trained.
  // Sums over all held-out samples (over all labels, if a sample has several).
  double loss_sum = 0, correct = 0, samples = 0;
  double loss() const { return loss_sum / samples; }
  double accuracy() const { return correct / samples; }
};

// Evaluates the newest complete checkpoint in `checkpoints` on a device of the kind that evaluated
// in the run: the evaluator, or else the chief. Returns a Problem if no checkpoint can be read, if
// the data are missing, or if this machine lacks the device. `experiment` must have held-out
// samples.
base::Result<EvaluatedCheckpoint> evaluate_newest_checkpoint(
    const experiment::Resolved& experiment, const std::filesystem::path& checkpoints,
    const MakeCompute& make_compute);

}  // namespace trainyard::session
