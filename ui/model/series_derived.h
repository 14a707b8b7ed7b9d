// SPDX-License-Identifier: GPL-3.0-or-later
// Series made from series: smoothed lines, rates from totals, one number over several ranks. All
// grow at the end only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "ui/model/series.h"

namespace trainyard::ui {

// Exponential moving average, debiased as TensorBoard does it: m_k = w m_(k-1) + (1 - w) x_k, shown
// as m_k / (1 - w^k), so that the first points are not drawn towards zero. A value that is not
// finite is passed on and leaves the average as it is.
class Smoother {
 public:
  explicit Smoother(double weight)
      : weight_(weight) {}  // 0 <= weight < 1; 0 gives the values themselves
  double next(double value);

 private:
  double weight_, mean_ = 0, power_ = 1;
};

// From a total that is sampled now and then: the mean rate since the sample before. Nothing for the
// first sample, and for one that is not later: what grew in no time is in no rate. A total that
// fell was restarted: the next rate counts from there.
class RateMeter {
 public:
  std::optional<double> next(double seconds, double total);

 private:
  bool any_ = false;
  double seconds_ = 0, total_ = 0;
};

enum class Over { sum, mean, greatest };

// One value of each of `expected` sources (ranks, peers) at a step becomes one value. A step that
// some source never reported gives nothing: it stays a gap.
class StepGather {
 public:
  StepGather(int expected, Over over) : expected_(expected), over_(over) {}
  // The finished point (its time is the latest of the sources), once the last source has reported
  // the step.
  std::optional<SeriesPoint> add(const SeriesPoint& point);

 private:
  struct Open {
    SeriesPoint all;
    int reports = 0;
  };
  int expected_;
  Over over_;
  std::map<double, Open> open_;  // by step
};

// Steps that ranks do apart, each by one of them: put in their order again. The first is 0.
class StepOrder {
 public:
  static constexpr std::size_t kWaiting = 256;  // of more, the first has lost what lies before it

  void add(const SeriesPoint& point) { waiting_[point.step] = point; }
  // What follows at once on the one told last.
  std::optional<SeriesPoint> next();

 private:
  std::map<double, SeriesPoint> waiting_;
  double next_ = 0;
};

}  // namespace trainyard::ui
