// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/series/series_derived.h"

#include <algorithm>
#include <cmath>

namespace trainyard::ui {

double Smoother::next(double value) {
  if (!std::isfinite(value)) return value;
  mean_ = weight_ * mean_ + (1 - weight_) * value;
  power_ *= weight_;
  return mean_ / (1 - power_);
}

std::optional<double> RateMeter::next(double seconds, double total) {
  const double span = seconds - seconds_, grown = total - total_;
  const bool usable = any_ && span > 0 && grown >= 0;
  any_ = true;
  seconds_ = seconds;
  total_ = total;
  if (!usable) return {};
  return grown / span;
}

std::optional<SeriesPoint> StepGather::add(const SeriesPoint& point) {
  Open& open = open_.try_emplace(point.step, Open{{point.step, point.samples, point.seconds, 0}, 0})
                   .first->second;
  const bool first = open.reports++ == 0;
  open.all.thinned = open.all.thinned || point.thinned;
  open.all.seconds = std::max(open.all.seconds, point.seconds);
  open.all.samples = std::max(open.all.samples, point.samples);
  open.all.value = over_ == Over::greatest
                       ? (first ? point.value : std::max(open.all.value, point.value))
                       : open.all.value + point.value;
  if (open.reports < expected_) return {};
  SeriesPoint done = open.all;
  if (over_ == Over::mean) done.value /= expected_;
  // Reports of earlier steps are dropped, because these steps can no longer be completed.
  open_.erase(open_.begin(), std::next(open_.find(point.step)));
  return done;
}

}  // namespace trainyard::ui
