// SPDX-License-Identifier: GPL-3.0-or-later
// The programs of ranks that may take the same samples as others, as they have but parts of the
// model: how many samples each takes, in micro-batches of training.batch_per_rank, the last of
// which may be shorter.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::strategy {

struct ProgramSize {
  std::string name;
  std::int64_t samples = 0, all = 0,
               repeats = 1;  // of the rank, of which one that is called has none; and of all
  // By number, the samples of what passes the rank, or is another caller's. As many as the replica
  // that takes most has: of a replica that takes fewer, the last ones have none.
  std::vector<std::int64_t> micro_batches = {};
  std::vector<std::int64_t> of_replicas = {};  // by number, of all replicas together

  std::int32_t count() const { return static_cast<std::int32_t>(micro_batches.size()); }
};

std::vector<ProgramSize> training_of(const experiment::Resolved& experiment,
                                     int rank);  // "train", "tail", ...
// "evaluate", of one batch of each caller, and what is left over. Where parameters are gathered for
// it, all take part in both.
std::vector<ProgramSize> evaluation_of(const experiment::Resolved& experiment, int rank);

}  // namespace trainyard::strategy
