// SPDX-License-Identifier: GPL-3.0-or-later
// The sets that need no file. Sample i of a split is f(seed, split, i): how many samples a set has,
// who asks and in what order change nothing. Classes are balanced: sample i is of class i modulo
// the classes; but of clicks, which are drawn (clicks.h).
#pragma once

#include <memory>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

inline std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Drawn on first use and kept, so that a run starts at once and later epochs cost a copy.
std::shared_ptr<const Dataset> make_digits(const DataSpec& spec);
// Arms of an Archimedean spiral, one a class, three quarters of a turn long.
std::shared_ptr<const Dataset> make_spirals(const DataSpec& spec);
// Gaussian clouds around centres that are kept apart.
std::shared_ptr<const Dataset> make_blobs(const DataSpec& spec);
// A click log, of categorical features.
std::shared_ptr<const Dataset> make_clicks(const DataSpec& spec);
std::vector<std::int32_t> click_labels(const DataSpec& spec);  // of the samples to train on

DataSummary summarise_generated(const DataSpec& spec);

// Names sample `index` of a split in the streams of base::Random.
inline std::uint32_t item_of(Split split, std::int64_t index) {
  return static_cast<std::uint32_t>(index) | (split == Split::held_out ? 0x8000'0000u : 0u);
}

}  // namespace trainyard::data
