// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/data/input_pipeline.h"
#include "core/data/permutation.h"

namespace trainyard::data {

std::pair<std::int64_t, std::int64_t> slice(std::int64_t samples, std::int64_t ranks, std::int64_t rank) {
  const std::int64_t share = samples / ranks, longer = samples % ranks;  // the first `longer` ranks take one more
  return {rank * share + std::min(rank, longer), share + (rank < longer ? 1 : 0)};
}

Sampler::Sampler(std::int64_t seed, std::int64_t samples, std::int64_t batch_per_rank, std::int64_t ranks)
    : seed_(seed), samples_(samples), batch_(batch_per_rank * ranks), ranks_(ranks), permutation_(static_cast<std::size_t>(samples)) {}

std::int64_t Sampler::full_steps_per_epoch() const { return samples_ / batch_; }

std::int64_t Sampler::steps_per_epoch() const { return (samples_ + batch_ - 1) / batch_; }

std::int64_t Sampler::global_samples(std::int64_t step) const { return std::min(batch_, samples_ - step % steps_per_epoch() * batch_); }

std::int64_t Sampler::samples(std::int64_t step, std::int64_t rank) const { return slice(global_samples(step), ranks_, rank).second; }

std::span<const std::int64_t> Sampler::indices(std::int64_t step, std::int64_t rank) {
  if (const std::int64_t epoch = step / steps_per_epoch(); epoch != epoch_) {
    permute(permutation_, base::Random(static_cast<std::uint64_t>(seed_), base::Purpose::permute, static_cast<std::uint32_t>(epoch)));
    epoch_ = epoch;
  }
  const auto [first, count] = slice(global_samples(step), ranks_, rank);
  const std::int64_t start = step % steps_per_epoch() * batch_ + first;
  return std::span(permutation_).subspan(static_cast<std::size_t>(start), static_cast<std::size_t>(count));
}

}  // namespace trainyard::data
