// SPDX-License-Identifier: GPL-3.0-or-later
// Generated data sets, which need no file. Sample i of a split is f(seed, split, i), independent of
// the number of samples and of the order of access. Classes are balanced: sample i has class i
// modulo the number of classes, except in click logs, where labels are drawn (clicks.h).
#pragma once

#include <memory>
#include <vector>

#include "core/data/dataset.h"

namespace trainyard::data {

inline std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

// Digits are drawn on first use and cached, so a run starts immediately and later epochs only copy.
std::shared_ptr<const Dataset> make_digits(const DataSpec& spec);
// Points on arms of an Archimedean spiral. Each class has one arm, which is three quarters of a
// turn long.
std::shared_ptr<const Dataset> make_spirals(const DataSpec& spec);
// Gaussian clouds around centers that are kept apart.
std::shared_ptr<const Dataset> make_blobs(const DataSpec& spec);
// Click log with categorical features.
std::shared_ptr<const Dataset> make_clicks(const DataSpec& spec);
std::vector<std::int32_t> click_labels(const DataSpec& spec);  // Labels of the training samples.

DataSummary summarize_generated(const DataSpec& spec);

// Returns the number by which base::Random identifies sample `index` of a split.
inline std::uint32_t item_of(Split split, std::int64_t index) {
  return static_cast<std::uint32_t>(index) | (split == Split::held_out ? 0x8000'0000u : 0u);
}

}  // namespace trainyard::data
