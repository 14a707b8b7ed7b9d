// SPDX-License-Identifier: GPL-3.0-or-later
// Quantile of the values of several series of any length.
#pragma once

#include <optional>
#include <vector>

#include "ui/model/series/series.h"

namespace trainyard::ui {

// Points of a series, by index.
struct SeriesPart {
  const PointSeries* points = nullptr;
  std::size_t begin = 0, end = 0;
};

// Returns the value that a fraction `share` of all finite values does not exceed, or nothing if
// there are no values. With more than `kQuantileValues` values, it uses a stratified sample: one
// random value of every n consecutive ones. The same values are chosen each time. Periodic patterns
// keep their frequency.
inline constexpr std::size_t kQuantileValues = 16'384;
std::optional<double> quantile(const std::vector<SeriesPart>& parts, double share);

}  // namespace trainyard::ui
