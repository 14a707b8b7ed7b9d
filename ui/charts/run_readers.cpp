// SPDX-License-Identifier: GPL-3.0-or-later
// From a history's columns to the points of lines, each read once, by cursor.
#include <algorithm>

#include "ui/charts/run_lines.h"

namespace trainyard::ui {

using telemetry::History;
using telemetry::Metric;
using telemetry::Series;

void SampleCounter::update(const History& history) {
  if (history.ranks() == 0) return;
  if (!gather_) gather_.emplace(history.ranks(), Over::sum);
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const Series* series = history.find({Metric::samples, rank, 0});
    for (std::size_t& i = read_[rank]; series && i < series->values.size(); ++i)
      if (const auto done = gather_->add({static_cast<double>(series->steps[i]), 0, series->seconds[i], series->values[i]})) {
        steps_.push_back(done->step);
        totals_.push_back((totals_.empty() ? 0 : totals_.back()) + done->value);
      }
  }
}

// A step beyond the last that all ranks reported goes on at the mean rate so far.
double SampleCounter::at(double step) const {
  if (steps_.empty()) return 0;
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), step);
  if (after == steps_.begin()) return 0;
  const auto index = static_cast<std::size_t>(after - steps_.begin()) - 1;
  return totals_[index] + (step - steps_[index]) * totals_[index] / (steps_[index] + 1);
}

SourceReader::SourceReader(const Source& source) : rate_(source.rate), gather_(static_cast<int>(source.keys.size()), source.over) {
  for (const auto& key : source.keys) cursors_.push_back({key, 0, {}});
}

void SourceReader::read(const History& history, std::vector<SeriesPoint>& out) {
  for (Cursor& cursor : cursors_) {
    const Series* series = history.find(cursor.key);
    for (; series && cursor.next < series->values.size(); ++cursor.next) {
      const std::size_t i = cursor.next;
      const auto value = rate_ ? cursor.meter.next(series->seconds[i], series->values[i]) : series->values[i];
      if (!value) continue;
      if (const auto done = gather_.add({static_cast<double>(series->steps[i]), 0, series->seconds[i], *value})) out.push_back(*done);
    }
  }
}

LineReader::LineReader(const LineSpec& spec) : spec_(spec), source_(spec.source), divisor_(spec.divisor) {}

void LineReader::read_gathered(const History& history, std::vector<SeriesPoint>& out) {
  const auto& values = (history.*spec_.gathered)();
  for (; next_gathered_ < values.size(); ++next_gathered_) {
    const auto& value = values[next_gathered_];
    out.push_back({static_cast<double>(value.step), 0, value.seconds, value.value});
  }
}

// Points of both sources meet by step; what has no partner is left out.
void LineReader::divide(const History& history, std::vector<SeriesPoint>& points) {
  dividends_.insert(dividends_.end(), points.begin(), points.end());
  points.clear();
  std::vector<SeriesPoint> more;
  divisor_.read(history, more);
  divisors_.insert(divisors_.end(), more.begin(), more.end());
  while (!dividends_.empty() && !divisors_.empty()) {
    SeriesPoint& above = dividends_.front();
    const SeriesPoint& below = divisors_.front();
    if (above.step == below.step) {
      above.value /= below.value;
      points.push_back(above);
    }
    const bool drop_above = above.step <= below.step, drop_below = below.step <= above.step;
    if (drop_above) dividends_.pop_front();
    if (drop_below) divisors_.pop_front();
  }
}

std::vector<SeriesPoint> LineReader::read(const History& history, const SampleCounter& samples) {
  std::vector<SeriesPoint> points;
  if (spec_.gathered) read_gathered(history, points);
  else source_.read(history, points);
  if (!spec_.divisor.keys.empty()) divide(history, points);
  for (SeriesPoint& point : points) point.samples = samples.at(point.step);
  return points;
}

}  // namespace trainyard::ui
