// SPDX-License-Identifier: GPL-3.0-or-later
// From a history's columns to the points of lines, each read once, by cursor.
#include <algorithm>
#include <utility>

#include "ui/charts/run_lines.h"

namespace trainyard::ui {

using telemetry::History;
using telemetry::Metric;
using telemetry::Series;

namespace {

constexpr Metric kPartMetrics[] = {Metric::compute_seconds, Metric::wait_seconds, Metric::transfer_seconds, Metric::input_seconds};  // as StepPart

}  // namespace

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

bool StepClock::advance(const History& history, int rank, int step) {
  const Series* series = history.find({Metric::step_seconds, rank, 0});
  const std::size_t before = read_;
  for (; series && read_ < series->steps.size() && series->steps[read_] <= step; ++read_) seconds_ += series->values[read_];
  return static_cast<int>(read_ - before) == step - std::exchange(step_, step);
}

SourceReader::SourceReader(const Source& source)
    : rate_(source.rate), parts_(source.parts.begin(), source.parts.end()), gather_(static_cast<int>(source.keys.size() + source.parts.size()), source.over) {
  for (const auto& key : source.keys) cursors_.push_back({key, 0, {}, {}});
}

void SourceReader::gather(const SeriesPoint& point, std::vector<SeriesPoint>& out) {
  if (const auto done = gather_.add(point)) out.push_back(*done);
}

// Bytes that moved while a step's time was lost are in no rate.
std::optional<double> SourceReader::rate(const History& history, Cursor& cursor, int step, double total) {
  if (!cursor.clock.advance(history, cursor.key.rank, step)) cursor.meter = {};
  return cursor.meter.next(cursor.clock.seconds(), total);
}

void SourceReader::read(const History& history, std::vector<SeriesPoint>& out) {
  for (Cursor& cursor : cursors_) {
    const Series* series = history.find(cursor.key);
    for (; series && cursor.next < series->values.size(); ++cursor.next) {
      const std::size_t i = cursor.next;
      const auto value = rate_ ? rate(history, cursor, series->steps[i], series->values[i]) : series->values[i];
      if (value) gather({static_cast<double>(series->steps[i]), 0, series->seconds[i], *value}, out);
    }
  }
  for (SourceReader& part : parts_) {
    std::vector<SeriesPoint> points;
    part.read(history, points);
    for (const SeriesPoint& point : points) gather(point, out);
  }
}

void SplitReader::read(const History& history, std::vector<SeriesPoint>& out) {
  if (split_.of >= 0) return read_rank(history, split_.of, 1, out);
  for (int rank = 0; rank < history.ranks(); ++rank) read_rank(history, rank, history.ranks(), out);
}

// A rank reports the whole step first, then its parts. A step of which a report was lost is left out.
void SplitReader::read_rank(const History& history, int rank, int ranks, std::vector<SeriesPoint>& out) {
  const Series* whole = history.find({Metric::step_seconds, rank, 0});
  for (std::size_t& i = next_[{rank, Metric::step_seconds}]; whole && i < whole->values.size(); ++i) {
    double parts[kStepParts] = {}, rest = whole->values[i];
    bool lost = false;
    for (std::size_t p = 0; p < std::size(kPartMetrics); ++p) {
      const Series* series = history.find({kPartMetrics[p], rank, 0});
      std::size_t& j = next_[{rank, kPartMetrics[p]}];
      while (series && j < series->steps.size() && series->steps[j] < whole->steps[i]) ++j;
      if (!series || j == series->steps.size()) return;  // it is still to come
      lost = lost || series->steps[j] != whole->steps[i];
      rest -= parts[p] = series->values[j];
    }
    parts[static_cast<std::size_t>(StepPart::overhead)] = std::max(rest, 0.0);
    if (!lost) add(whole->steps[i], whole->seconds[i], whole->values[i], parts[static_cast<std::size_t>(split_.part)], ranks, out);
  }
}

void SplitReader::add(double step, double seconds, double whole, double part, int ranks, std::vector<SeriesPoint>& out) {
  Open& open = open_[step];
  open.seconds = std::max(open.seconds, seconds);
  if (split_.of != LineChoice::kSlowest) open.value += part / ranks;
  else if (whole > open.longest) open.value = part;
  open.longest = std::max(open.longest, whole);
  if (++open.reports < ranks) return;
  out.push_back({step, 0, open.seconds, open.value});
  open_.erase(open_.begin(), std::next(open_.find(step)));  // earlier steps will not be finished any more
}

LineReader::LineReader(const LineSpec& spec) : spec_(spec), source_(spec.source), divisor_(spec.divisor), split_(spec.split.value_or(StepSplit{})) {}

bool LineReader::reads_as(const LineSpec& spec) const {
  return spec_.source == spec.source && spec_.divisor == spec.divisor && spec_.gathered == spec.gathered && spec_.split == spec.split;
}

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
  else if (spec_.split) split_.read(history, points);
  else source_.read(history, points);
  if (!spec_.divisor.keys.empty()) divide(history, points);
  for (SeriesPoint& point : points) point.samples = samples.at(point.step);
  return points;
}

}  // namespace trainyard::ui
