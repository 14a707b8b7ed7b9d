// SPDX-License-Identifier: GPL-3.0-or-later
// A quantile of the values of several series, however long they are.
#pragma once

#include <optional>
#include <vector>

#include "ui/model/series.h"

namespace trainyard::ui {

// Points of a series, by index.
struct SeriesPart {
  const PointSeries* points = nullptr;
  std::size_t begin = 0, end = 0;
};

// What `share` of all finite values do not pass; nothing where there is none. Of more than
// `kQuantileValues` values it looks at some: one of each so many in a row, by chance but always the
// same one, so that what recurs every so many points is met as often as it is there.
inline constexpr std::size_t kQuantileValues = 16'384;
std::optional<double> quantile(const std::vector<SeriesPart>& parts, double share);

}  // namespace trainyard::ui
