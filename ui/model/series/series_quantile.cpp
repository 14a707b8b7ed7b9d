// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series_quantile.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace trainyard::ui {
namespace {

// SplitMix64 (Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

void look_at(const SeriesPart& part, std::size_t stride, std::vector<double>& values) {
  for (std::size_t block = part.begin / stride; block * stride < part.end; ++block) {
    const std::size_t at = block * stride + mixed(block) % stride;
    if (at >= part.begin && at < part.end && std::isfinite(part.points->value(at)))
      values.push_back(part.points->value(at));
  }
}

}  // namespace

std::optional<double> quantile(const std::vector<SeriesPart>& parts, double share) {
  std::size_t all = 0;
  for (const SeriesPart& part : parts) all += part.end - part.begin;
  const std::size_t stride =
      std::bit_ceil(std::max<std::size_t>(1, (all + kQuantileValues - 1) / kQuantileValues));
  std::vector<double> values;
  values.reserve(all / stride + parts.size());
  for (const SeriesPart& part : parts) look_at(part, stride, values);
  if (values.empty()) return {};
  const double last = std::ceil(share * static_cast<double>(values.size()) - 1e-9) - 1;
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::clamp(
                                       last, 0.0, static_cast<double>(values.size() - 1)));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace trainyard::ui
