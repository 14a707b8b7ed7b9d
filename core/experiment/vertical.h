// SPDX-License-Identifier: GPL-3.0-or-later
// Vertical sharding: a rank has its own feature columns of every sample. The first layer, which is
// linear, is summed over columns, hence over ranks: x W^T = sum over ranks of x[:,own] W[:,own]^T.
// In every micro-step its partial products are reduce-scattered, so that a rank goes on with the
// rows that iid sharding would give it; backward, the gradients before its activation are
// all-gathered.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/experiment/buckets.h"

namespace trainyard::experiment {

// Whether columns are shared out: asked for, and there are several ranks to do so.
bool shares_columns(const Resolved& experiment);

// {first, count} of the columns of each rank; none where a rank has them all.
using ColumnTable = std::vector<std::pair<std::int64_t, std::int64_t>>;
ColumnTable columns_by_rank(const Resolved& experiment);

// By rank: "196 of 784 feature columns, 196 to 391, of every sample". None where a rank has them
// all.
std::vector<std::string> columns_in_words(const Resolved& experiment);

// Rows of all ranks in the micro-steps of one step; of a rank every one has its part
// (collective::part), as in iid sharding.
std::vector<std::int64_t> rows_of_micro_steps(const Resolved& experiment, std::int64_t step);

// Rows of all ranks in each round of an evaluation: every rank takes a batch of its part of the
// held-out samples, while any has one left.
std::vector<std::int64_t> rows_of_evaluation(const Resolved& experiment);

// What is exchanged over so many rows: of O outputs of the first layer, rows O numbers, in rows
// that are not cut.
collective::Work exchanged(const Resolved& experiment, std::int64_t rows,
                           collective::Collective collective);

// Over the whole run: how many reduce-scatters and all-gathers there are of each number of rows.
struct Exchange {
  std::int64_t rows = 0, times = 0;
  bool backward = false;  // an all-gather follows, as in training
  bool operator==(const Exchange&) const = default;
};
std::vector<Exchange> exchanges(const Resolved& experiment);

// Where it cannot be, at data.sharding.kind. `data` may be null where it is not known.
base::Problems vertical_problems(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
