// SPDX-License-Identifier: GPL-3.0-or-later
// Ownership of samples. The coordinator counts once how many samples of each class each rank owns.
// This table is part of the resolved experiment, which is sent to ranks and recorded. Together with
// the labels, which every rank reads, it determines the owner of each sample. So the arithmetic of
// the distributions is done only once, and a plan needs no data.
#pragma once

#include <vector>

#include "core/base/result.h"
#include "core/data/dataset.h"
#include "core/data/shares.h"

namespace trainyard::data {

using ShardTable = std::vector<std::vector<std::int64_t>>;  // Number of samples, by rank and class.

// Returns the table for a kind of sharding in which ranks own samples. Parameters must be in range;
// `ranks` must be at least 1. A rank may get no samples. label_skew: each class is divided by
// fractions p ~ Dirichlet(alpha, ..., alpha) over the ranks, drawn as normalized Gamma variates
// (Marsaglia and Tsang, "A simple method for generating gamma variables", ACM TOMS 2000).
// size_skew: rank r of n has weight size_ratio^(-r / (n - 1)). Fractions are converted to whole
// numbers of samples by largest remainders (Hamilton's method), so that every sample has an owner.
ShardTable count_shards(const ShardingSpec& spec, const TrainingLabels& labels,
                        std::int64_t classes, std::int64_t ranks);

// Returns the number of samples per rank and class of iid sharding in the first epoch; other epochs
// differ randomly. `seed`: seed of the sample order.
ShardTable count_first_epoch(std::int64_t seed, std::int64_t batch_per_rank,
                             const TrainingLabels& labels, std::int64_t classes,
                             std::int64_t ranks);

// Returns the rank that owns each sample, for sharding in which each rank keeps its samples for all
// epochs. `table`: as returned by `count`. Returns a Problem if a class has other numbers of
// samples in the labels than in the table.
base::Result<std::vector<std::int32_t>> owners(const ShardingSpec& spec, const ShardTable& table,
                                               const TrainingLabels& labels);

std::vector<std::int64_t> samples_by_rank(const ShardTable& table);

// Returns one line about the shard of a rank: "2,013 samples, by class 201, 12, 0, 1,800".
std::string shard_text(const std::vector<std::int64_t>& samples_by_class);

}  // namespace trainyard::data
