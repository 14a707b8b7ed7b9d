// SPDX-License-Identifier: GPL-3.0-or-later
// Vertical sharding: each rank has some feature columns of every sample. The first layer is linear,
// so its output is a sum over ranks: x W^T = sum over ranks of x[:,own] W[:,own]^T. Every
// micro-step reduce-scatters these partial products, so that each rank continues with the rows that
// iid sharding would give it. The backward pass all-gathers the gradients of the layer's output.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/experiment/buckets.h"

namespace trainyard::experiment {

// True if the experiment requests sharded columns and has several ranks.
bool shards_columns(const Resolved& experiment);

// By rank: first column and number of columns. Empty if every rank has all columns.
using ColumnTable = std::vector<std::pair<std::int64_t, std::int64_t>>;
ColumnTable columns_by_rank(const Resolved& experiment);

// Returns a text per rank: "196 of 784 feature columns, 196 to 391, of every sample". Empty if
// every rank has all columns.
std::vector<std::string> columns_text(const Resolved& experiment);

// Returns the total rows of all ranks in each micro-step of one step. Each rank has its part of
// these rows (`collective::part`), as in iid sharding.
std::vector<std::int64_t> rows_of_micro_steps(const Resolved& experiment, std::int64_t step);

// Returns the total rows of all ranks in each round of an evaluation. In each round every rank
// takes a batch of its held-out samples, until all ranks have processed all of them.
std::vector<std::int64_t> rows_of_evaluation(const Resolved& experiment);

// Returns the collective that exchanges `rows` rows of the first layer's output. Each row stays on
// one rank as a whole.
collective::Work exchanged(const Resolved& experiment, std::int64_t rows,
                           collective::Collective collective);

// Exchanges of partial products with the same number of rows, and how often they occur in the full
// run.
struct Exchange {
  std::int64_t rows = 0, times = 0;
  bool backward = false;  // True in training, where an all-gather of gradients follows.
  bool operator==(const Exchange&) const = default;
};
std::vector<Exchange> exchanges(const Resolved& experiment);

// Returns problems of vertical sharding, at data.sharding.kind. `data` may be null if unknown.
base::Problems vertical_problems(const Experiment& experiment, const data::DataSummary* data);

}  // namespace trainyard::experiment
