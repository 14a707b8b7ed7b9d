// SPDX-License-Identifier: GPL-3.0-or-later
// Series that are computed from others: smoothed lines, rates of running totals, and values
// combined over ranks.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "ui/model/series/series.h"

namespace trainyard::ui {

// Exponential moving average, debiased as in TensorBoard: m_k = w m_(k-1) + (1 - w) x_k, shown as
// m_k / (1 - w^k), so that the first points are not biased toward zero. A value that is not finite
// is returned unchanged and does not change the average.
class Smoother {
 public:
  explicit Smoother(double weight)
      : weight_(weight) {}  // 0 <= weight < 1; with 0, values are unchanged
  double next(double value);

 private:
  double weight_, mean_ = 0, power_ = 1;
};

// Computes the mean rate of a running total since the previous sample. Returns nothing for the
// first sample, and for a sample whose time is not later than that of the previous one. A total
// that has decreased was reset: the next rate is computed from the new total.
class RateMeter {
 public:
  std::optional<double> next(double seconds, double total);

 private:
  bool any_ = false;
  double seconds_ = 0, total_ = 0;
};

enum class Over { sum, mean, greatest };

// Combines the values that ranks or peers report for a step into one value. `expected` is the
// number of reports per step. A step with a missing report gets no value, so that the line has a
// gap there.
class StepGather {
 public:
  StepGather(int expected, Over over) : expected_(expected), over_(over) {}
  // Adds the point that one source reports. Returns the combined point if all sources have reported
  // the step, otherwise nothing. The time of the combined point is the latest time of the reports.
  std::optional<SeriesPoint> add(const SeriesPoint& point);

 private:
  struct Open {
    SeriesPoint all;
    int reports = 0;
  };
  int expected_;
  Over over_;
  std::map<double, Open> open_;  // incomplete steps
};

}  // namespace trainyard::ui
