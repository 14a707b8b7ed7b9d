// SPDX-License-Identifier: GPL-3.0-or-later
// Who owns which samples. The coordinator counts it out once, as samples by rank and class; that
// table is resolved, sent and recorded, and with the labels, which every rank reads, it says of
// each sample who owns it. So the arithmetic of the distributions is done in one place only, and a
// plan needs no data.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/data/dataset.h"
#include "core/data/shares.h"

namespace trainyard::data {

using ShardTable = std::vector<std::vector<std::int64_t>>;  // samples by rank and class

// The table of a kind that owns. Parameters must be in range; `ranks` at least 1. A rank may be
// left with nothing. label_skew: for each class, parts p ~ Dirichlet(alpha, ..., alpha) over the
// ranks, as normalised Gamma variates (Marsaglia and Tsang, "A simple method for generating gamma
// variables", ACM TOMS 2000). size_skew: rank r of n has size_ratio^(-r / (n - 1)) parts. Parts
// become whole samples by largest remainders, so that none is lost.
ShardTable count_shards(const ShardingSpec& spec, const TrainingLabels& labels,
                        std::int64_t classes, std::int64_t ranks);

// What iid deals in the first epoch; the others differ by chance. `seed` is that of the sample
// order.
ShardTable count_first_epoch(std::int64_t seed, std::int64_t batch_per_rank,
                             const TrainingLabels& labels, std::int64_t classes,
                             std::int64_t ranks);

// The rank of each sample, by the table of a kind that owns. A Problem where the labels are not
// those that the table counted.
base::Result<std::vector<std::int32_t>> owners(const ShardingSpec& spec, const ShardTable& table,
                                               const TrainingLabels& labels);

std::vector<std::int64_t> samples_by_rank(const ShardTable& table);

// Of one rank, in one line: "2,013 samples, by class 201, 12, 0, 1,800".
std::string shard_in_words(const std::vector<std::int64_t>& samples_by_class);

}  // namespace trainyard::data
