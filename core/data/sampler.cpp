// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/sampler.h"

#include <algorithm>

#include "core/data/permutation.h"

namespace trainyard::data {

Sampler::Sampler(std::int64_t seed, Shares shares, std::vector<std::int32_t> owners)
    : seed_(seed),
      shares_(std::move(shares)),
      owners_(std::move(owners)),
      order_(static_cast<std::size_t>(shares_.epoch_samples())) {
  if (owners_.empty()) return;
  starts_.assign(static_cast<std::size_t>(shares_.ranks()) + 1, 0);
  for (const std::int32_t owner : owners_) ++starts_[static_cast<std::size_t>(owner) + 1];
  for (std::size_t rank = 1; rank < starts_.size(); ++rank) starts_[rank] += starts_[rank - 1];
  places_.resize(starts_.size());
  permutation_.resize(order_.size());
}

std::span<const std::int64_t> Sampler::indices(std::int64_t step, std::int64_t rank) {
  if (const std::int64_t epoch = step / shares_.steps_per_epoch(); epoch != epoch_)
    permute_epoch(epoch);
  const std::int64_t start =
      (owners_.empty() ? 0 : starts_[static_cast<std::size_t>(rank)]) + shares_.first(step, rank);
  return std::span<const std::int64_t>(order_).subspan(
      static_cast<std::size_t>(start), static_cast<std::size_t>(shares_.samples(step, rank)));
}

// Permutes all samples together, independent of which rank owns them. So a rank takes its samples
// in the order in which one device would.
void Sampler::permute_epoch(std::int64_t epoch) {
  epoch_ = epoch;
  const base::Random random(static_cast<std::uint64_t>(seed_), base::Purpose::permute,
                            static_cast<std::uint32_t>(epoch));
  if (owners_.empty()) return permute(order_, random);
  permute(permutation_, random);
  std::copy(starts_.begin(), starts_.end(), places_.begin());
  for (const std::int64_t index : permutation_) {
    const auto owner = static_cast<std::size_t>(owners_[static_cast<std::size_t>(index)]);
    order_[static_cast<std::size_t>(places_[owner]++)] = index;
  }
}

}  // namespace trainyard::data
