// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/micro_batches.h"

#include <algorithm>

namespace trainyard::data {

MicroBatches::MicroBatches(Sampler sampler, std::int64_t rank, std::int64_t max_samples, Rows rows)
    : sampler_(std::move(sampler)),
      rank_(sampler_.shares().ranks() > 1 ? rank : 0),
      max_samples_(max_samples),
      rows_(rows) {}

void MicroBatches::take(std::int64_t step, std::int64_t micro, MicroBatch& batch) {
  batch.indices.clear();
  batch.last = true;
  const bool all = rows_ == Rows::all;
  for (std::int64_t rank = all ? 0 : rank_, end = all ? sampler_.shares().ranks() : rank_ + 1;
       rank < end; ++rank)
    append(step, micro, rank, batch);
}

void MicroBatches::append(std::int64_t step, std::int64_t micro, std::int64_t rank,
                          MicroBatch& batch) {
  const auto part = sampler_.indices(step, rank);
  const auto before = static_cast<std::int64_t>(batch.indices.size());
  const std::int64_t first =
      micro == 0 ? 0 : std::min<std::int64_t>(std::ssize(part), micro * max_samples_);
  const std::int64_t count = std::min(std::ssize(part) - first, max_samples_);
  batch.indices.insert(batch.indices.end(), part.begin() + first, part.begin() + first + count);
  batch.last = batch.last && first + count == std::ssize(part);
  if (rank != rank_) return;
  batch.own_first = before;
  batch.own = count;
}

}  // namespace trainyard::data
