// SPDX-License-Identifier: GPL-3.0-or-later
// Quantile of the values of several series of any length.
#pragma once

#include <optional>
#include <vector>

#include "ui/model/series/series.h"

namespace trainyard::ui {

// Range of points of a series, by index.
struct SeriesPart {
  const PointSeries* points = nullptr;
  std::size_t begin = 0, end = 0;
};

// Returns the `share` quantile of all finite values, or nothing if there are none. If there are
// more than kQuantileValues values, the quantile is computed from a stratified sample. The sample
// has one value at a random position among every n consecutive values, so that periodic patterns
// are not distorted. Repeated calls use the same sample.
inline constexpr std::size_t kQuantileValues = 16'384;
std::optional<double> quantile(const std::vector<SeriesPart>& parts, double share);

}  // namespace trainyard::ui
