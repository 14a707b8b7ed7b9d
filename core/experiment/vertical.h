// SPDX-License-Identifier: GPL-3.0-or-later
// Vertical sharding: each rank has some feature columns of every sample. The first layer, which is
// linear, is summed over columns, hence over ranks: x W^T = sum over ranks of x[:,own] W[:,own]^T.
// In every micro-step its partial products are reduce-scattered, so that a rank continues with the
// rows that iid sharding would give it. Backward, the gradients at the layer's output are
// all-gathered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/experiment/buckets.h"

namespace trainyard::experiment {

// True if columns are sharded: requested, and there are several ranks.
bool shards_columns(const Resolved& experiment);

// {first, count} of the columns of each rank; empty if a rank has them all.
using ColumnTable = std::vector<std::pair<std::int64_t, std::int64_t>>;
ColumnTable columns_by_rank(const Resolved& experiment);

// By rank: "196 of 784 feature columns, 196 to 391, of every sample". Empty if a rank has them all.
std::vector<std::string> columns_text(const Resolved& experiment);

// Rows of all ranks in each micro-step of one step; each rank has its part (`collective::part`), as
// in iid sharding.
std::vector<std::int64_t> rows_of_micro_steps(const Resolved& experiment, std::int64_t step);

// Rows of all ranks in each round of an evaluation: every rank takes a batch of its held-out
// samples, until none has any left.
std::vector<std::int64_t> rows_of_evaluation(const Resolved& experiment);

// Returns the collective over `rows` rows of O numbers, the outputs of the first layer; rows are
// not split.
collective::Work exchanged(const Resolved& experiment, std::int64_t rows,
                           collective::Collective collective);

// Number of exchanges of each size in the full run.
struct Exchange {
  std::int64_t rows = 0, times = 0;
  bool backward = false;  // An all-gather follows, as in training.
  bool operator==(const Exchange&) const = default;
};
std::vector<Exchange> exchanges(const Resolved& experiment);

// Returns problems, at data.sharding.kind. `data` may be null if unknown.
base::Problems vertical_problems(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
