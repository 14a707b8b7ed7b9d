// SPDX-License-Identifier: GPL-3.0-or-later
// The points of one line of a chart. Any number of points can be appended. A series finds the
// minimum and maximum of any range of points in logarithmic time, and the breaks of the line, so
// that it can be drawn exactly and fast. It does not depend on widgets or chart libraries.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace trainyard::ui {

enum class XAxis { step, samples, bytes, seconds, simulated, passes };
inline constexpr std::size_t kXAxes = 6;

struct SeriesPoint {
  double step = 0, samples = 0,
         // steps, samples and seconds never decrease within a series; nor do bytes and simulated
         // seconds
      seconds = 0;
  double value = 0;  // may be NaN or infinite, which is logged but cannot be drawn
  double bytes = 0;  // bytes sent by all ranks
  // simulated time at the drawn speeds, in seconds; NaN unless requested
  double simulated = std::numeric_limits<double>::quiet_NaN();
  double passes = 0;  // number of samples divided by the number of training samples
  // True if values before this point were logged, but are not kept (History::thinned_until).
  bool thinned = false;
  double on(XAxis axis) const {
    return std::array{
        step, samples, bytes, seconds, simulated, passes}[static_cast<std::size_t>(axis)];
  }
};

// Rule that determines whether two neighboring points are joined by a line.
enum class Joining {
  // The points are joined only if no step lies between them, or if the values between them were
  // thinned. A line across other steps would show values that were not logged.
  next_step,
  always,  // always: a value covers the span since the previous one, as a rate does
  never,   // never: points are markers
};

// Indices of the points with the minimum and the maximum value in a range of points.
struct Extremes {
  bool any = false;
  std::uint32_t least = 0, greatest = 0;
};

// The values of a series that can be drawn on a linear or a logarithmic scale, and the breaks of
// the line.
class DrawableValues {
 public:
  explicit DrawableValues(bool positive_only) : positive_only_(positive_only) {}
  void append(double value, bool joined_to_previous);
  std::size_t size() const { return values_.size(); }
  bool drawable(std::size_t index) const;
  Extremes extremes(std::size_t begin, std::size_t end) const;
  // True if the line continues between two drawable points, because there is no break between them.
  bool joined(std::size_t from, std::size_t to) const { return breaks_[from] == breaks_[to]; }
  const std::vector<std::uint32_t>& skipped() const {
    return skipped_;
  }  // indices of values that cannot be drawn

 private:
  static constexpr std::size_t kFan = 16;
  void raise(std::size_t level);
  void include(Extremes& all, std::uint32_t index) const;
  void include(Extremes& all, const Extremes& part) const;
  Extremes of_values(std::size_t begin, std::size_t end) const;

  bool positive_only_;
  bool broken_ = false;  // true if the next drawable point starts a new line
  std::vector<std::uint32_t> skipped_;
  std::vector<double> values_;
  // for each point, the number of breaks before it, including a break directly before it
  std::vector<std::uint32_t> breaks_;
  // Extremes of blocks of values. Element [l][i] is for the kFan^(l+1) values that begin at index i
  // * kFan^(l+1).
  std::vector<std::vector<Extremes>> levels_;
};

class PointSeries {
 public:
  explicit PointSeries(Joining joining = Joining::next_step) : joining_(joining) {}

  void append(const SeriesPoint& point);
  // Thins the older half of the points. Returns the indices of its points that are left.
  std::vector<std::size_t> thin_older_half();
  // Keeps only the points with these indices of the first `end` points.
  void keep(const std::vector<std::size_t>& kept, std::size_t end);
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  SeriesPoint at(std::size_t index) const;
  double x(XAxis axis, std::size_t index) const {
    return x_[static_cast<std::size_t>(axis)][index];
  }
  double value(std::size_t index) const { return values_[index]; }
  Joining joining() const { return joining_; }

  std::size_t first_at_or_after(XAxis axis, double x) const;  // size() if there is no such point
  std::size_t nearest(XAxis axis, double wanted) const;       // the series must not be empty
  // `log`: true for a logarithmic scale, on which only values above 0 can be drawn
  const DrawableValues& drawable(bool log) const;

 private:
  bool joined_to_previous(std::size_t index) const;
  void catch_up(DrawableValues& drawable) const;

  Joining joining_;
  std::array<std::vector<double>, kXAxes> x_;
  std::vector<double> values_;
  double thinned_until_ = -1;  // step
  // Drawable values of each scale, computed when `drawable` is first called for it.
  mutable DrawableValues linear_{false}, log_{true};
};

}  // namespace trainyard::ui
