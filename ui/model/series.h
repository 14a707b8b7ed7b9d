// SPDX-License-Identifier: GPL-3.0-or-later
// The points of one line of a chart: append-only, unlimited, with what drawing them fast and truly
// needs: minima and maxima of any span in logarithmic time, and where the line is broken. Plain
// values; no widget and no chart library.
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
         seconds = 0;  // each never falls within a series, nor do bytes and simulated seconds
  double value = 0;    // may be NaN or infinite: then it was logged, but cannot be drawn
  double bytes = 0;    // that all ranks have sent
  double simulated = std::numeric_limits<double>::quiet_NaN();  // seconds by the drawn speeds,
                                                                // where somebody asked for them
  double passes = 0;                                            // over the training samples
  double on(XAxis axis) const {
    return std::array{
        step, samples, bytes, seconds, simulated, passes}[static_cast<std::size_t>(axis)];
  }
};

// When two neighbours may be joined by a line.
enum class Joining {
  next_step,  // only when no step lies between them: a line would claim values that were not logged
  always,     // a value stands for the whole span since the one before it (a rate)
  never,      // markers only
};

// The indices of the least and the greatest value of a span.
struct Extremes {
  bool any = false;
  std::uint32_t least = 0, greatest = 0;
};

// Values that can be drawn on one kind of scale, and the breaks between them.
class DrawableValues {
 public:
  explicit DrawableValues(bool positive_only) : positive_only_(positive_only) {}
  void append(double value, bool joined_to_previous);
  std::size_t size() const { return values_.size(); }
  bool drawable(std::size_t index) const;
  Extremes extremes(std::size_t begin, std::size_t end) const;
  // Whether the line may run from one drawable point to a later one: nothing between them broke it.
  bool joined(std::size_t from, std::size_t to) const { return breaks_[from] == breaks_[to]; }
  const std::vector<std::uint32_t>& skipped() const {
    return skipped_;
  }  // the indices of values that cannot be drawn

 private:
  static constexpr std::size_t kFan = 16;
  void raise(std::size_t level);
  void include(Extremes& all, std::uint32_t index) const;
  void include(Extremes& all, const Extremes& part) const;
  Extremes of_values(std::size_t begin, std::size_t end) const;

  bool positive_only_;
  bool broken_ = false;  // the next drawable point starts a new line
  std::vector<std::uint32_t> skipped_;
  std::vector<double> values_;
  std::vector<std::uint32_t> breaks_;          // breaks up to and with this point
  std::vector<std::vector<Extremes>> levels_;  // [l][i]: of the kFan^(l+1) values from i kFan^(l+1)
};

class PointSeries {
 public:
  explicit PointSeries(Joining joining = Joining::next_step) : joining_(joining) {}

  void append(const SeriesPoint& point);
  std::size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  SeriesPoint at(std::size_t index) const;
  double x(XAxis axis, std::size_t index) const {
    return x_[static_cast<std::size_t>(axis)][index];
  }
  double value(std::size_t index) const { return values_[index]; }
  Joining joining() const { return joining_; }

  std::size_t first_at_or_after(XAxis axis, double x) const;  // size() when there is none
  std::size_t nearest(XAxis axis, double wanted) const;       // of a series that is not empty
  const DrawableValues& drawable(bool log) const;             // log: only values above 0

 private:
  bool joined_to_previous(std::size_t index) const;
  void catch_up(DrawableValues& drawable) const;

  Joining joining_;
  std::array<std::vector<double>, kXAxes> x_;
  std::vector<double> values_;
  mutable DrawableValues linear_{false},
      log_{true};  // each is built when a scale of that kind first asks
};

}  // namespace trainyard::ui
