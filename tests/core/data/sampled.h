// SPDX-License-Identifier: GPL-3.0-or-later
// Results of a sampler.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/sampler.h"

namespace trainyard::data {

using SampleIndices = std::vector<std::int64_t>;

inline SampleIndices of_rank(Sampler& sampler, std::int64_t step, std::int64_t rank) {
  const auto indices = sampler.indices(step, rank);
  return {indices.begin(), indices.end()};
}

}  // namespace trainyard::data
