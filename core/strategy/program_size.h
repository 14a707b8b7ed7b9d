// SPDX-License-Identifier: GPL-3.0-or-later
// Program sizes of ranks that hold only a part of the model, so that several ranks may process the
// same samples. A micro-batch has training.batch_per_rank samples; the last one may have fewer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::strategy {

struct ProgramSize {
  std::string name;
  // `samples`: number of samples of this rank (0 if the rank is called remotely); `all`: number of
  // samples of all ranks; `repeats`: number of consecutive executions of the program
  std::int64_t samples = 0, all = 0, repeats = 1;
  // Number of samples of each micro-batch, including the micro-batches of other callers. All
  // replicas have as many entries as the replica with the most samples; entries without samples are
  // 0.
  std::vector<std::int64_t> micro_batches = {};
  std::vector<std::int64_t> of_replicas = {};  // by micro-batch: samples of all replicas together

  std::int32_t count() const { return static_cast<std::int32_t>(micro_batches.size()); }
};

// Returns the training programs "train", "tail", ...
std::vector<ProgramSize> training_of(const experiment::Resolved& experiment, int rank);
// Returns the evaluation programs: "evaluate", with one batch of each replica, and "evaluate_tail",
// with the remaining samples. If parameters are gathered, all ranks take part in both programs.
std::vector<ProgramSize> evaluation_of(const experiment::Resolved& experiment, int rank);

}  // namespace trainyard::strategy
