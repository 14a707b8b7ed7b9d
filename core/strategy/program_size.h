// SPDX-License-Identifier: GPL-3.0-or-later
// Program sizes of ranks that hold only a part of the model, and so may process the same samples as
// other ranks: micro-batches of training.batch_per_rank samples, the last of which may be shorter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::strategy {

struct ProgramSize {
  std::string name;
  std::int64_t samples = 0, all = 0,
               // `samples`: of this rank (0 if it is called remotely); `all`: of all ranks
      repeats = 1;
  // By number: samples of each micro-batch that passes the rank or belongs to another caller. All
  // replicas have as many entries as the one with the most samples; missing ones are 0.
  std::vector<std::int64_t> micro_batches = {};
  std::vector<std::int64_t> of_replicas = {};  // by number: samples of all replicas together

  std::int32_t count() const { return static_cast<std::int32_t>(micro_batches.size()); }
};

std::vector<ProgramSize> training_of(const experiment::Resolved& experiment,
                                     int rank);  // "train", "tail", ...
// "evaluate", with one batch of each caller, and "evaluate_tail" for the remainder. If parameters
// are gathered, all ranks take part in both.
std::vector<ProgramSize> evaluation_of(const experiment::Resolved& experiment, int rank);

}  // namespace trainyard::strategy
