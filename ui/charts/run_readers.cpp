// SPDX-License-Identifier: GPL-3.0-or-later
// Reads the series of a history, in portions, and appends points to lines. Cursors ensure that each
// value is read once.
#include <algorithm>
#include <utility>

#include "core/base/fields.h"
#include "ui/charts/run_lines.h"

namespace trainyard::ui {

using telemetry::History;
using telemetry::Metric;
using telemetry::Series;

namespace {

// Metrics of the parts of a step's time, in the order of StepPart.
constexpr Metric kPartMetrics[] = {Metric::compute_seconds, Metric::wait_seconds,
                                   Metric::transfer_seconds, Metric::input_seconds};

// Number of steps of which a StepSplit keeps the values; older ones are thinned.
constexpr std::size_t kKeptSplits = 8'192;

// Maximum number of steps that wait for an earlier one, if ranks run steps independently.
constexpr std::size_t kWaiting = 256;

std::size_t size_of(const Series* series) { return series ? series->values.size() : 0; }

// Moves the position to the first value at this step or a later one. Returns its index; nothing if
// there is no such value yet.
std::optional<std::size_t> index_from(const Series* series, std::int32_t step,
                                      telemetry::ReadPosition& at) {
  if (!series) return {};
  std::size_t next = at.next(*series);
  for (; next < series->size() && series->steps[next] < step; ++next) at.read(*series, next);
  return next < series->size() ? std::optional(next) : std::nullopt;
}

// Returns the value at a step; the search starts at the position `at`. Returns 0 if no value was
// reported for the step.
double value_of(const Series* series, std::int32_t step, telemetry::ReadPosition& at) {
  const auto index = index_from(series, step, at);
  return index && series->steps[*index] == step ? series->values[*index] : 0;
}

// Returns the first step at which a training rank was lost; infinity if none was lost.
double first_failed_step(const History& history) {
  const int evaluator = history.recorded_header().evaluator;
  const auto lost = std::ranges::find_if(history.faults(), [&](const telemetry::Fault& fault) {
    return fault.kind == "lost" && fault.rank != evaluator;
  });
  return lost == history.faults().end() ? std::numeric_limits<double>::infinity()
                                        : static_cast<double>(lost->step);
}

// Returns the recorded number of training samples; NaN if not recorded.
double samples_per_epoch(const History& history) {
  const auto samples = base::value_at(history.header(), "experiment.data.train_samples");
  return samples && samples->is_number() && samples->get<double>() > 0
             ? samples->get<double>()
             : std::numeric_limits<double>::quiet_NaN();
}

std::size_t end_of_portion(std::size_t next, std::size_t size) {
  return std::min(size, next + kValuesAtOnce);
}

}  // namespace

void ProgressCounter::find_senders(const History& history) {
  if (known_series_ == history.series().size()) return;
  known_series_ = history.series().size();
  for (auto at = history.series().lower_bound({Metric::sent_payload_bytes, 0, 0});
       at != history.series().end(); ++at) {
    if (at->first.metric != Metric::sent_payload_bytes) break;
    if (std::ranges::find(sent_, at->first, &Sent::key) == sent_.end())
      sent_.push_back({at->first});
  }
}

// Returns the bytes that all ranks sent up to a step. They are complete once the samples of the
// step are reported, because a rank reports its bytes of a step before its samples. Between two
// thinned counts, bytes are interpolated.
double ProgressCounter::sent_by(const History& history, double step) {
  double all = 0;
  for (Sent& sent : sent_) {
    const Series* series = history.find(sent.key);
    std::size_t i = series ? sent.next.next(*series) : 0;
    for (; i < size_of(series) && series->steps[i] <= step; ++i) {
      sent.bytes = series->values[i];
      sent.step = series->steps[i];
      sent.next.read(*series, i);
    }
    if (i < size_of(series) && series->steps[i] <= series->thinned_until && sent.step < step)
      all += (series->values[i] - sent.bytes) * (step - sent.step) / (series->steps[i] - sent.step);
    all += sent.bytes;
  }
  return all;
}

bool ProgressCounter::read(const History& history, bool over) {
  thinned_until_ = history.thinned_until();
  find_senders(history);
  const telemetry::StepValues& trained = history.trained_samples();
  std::size_t i = read_.next(trained);
  if (i < trained.size() && steps_.empty()) samples_per_epoch_ = samples_per_epoch(history);
  for (const std::size_t end = end_of_portion(i, trained.size()); i < end; ++i) {
    const telemetry::StepValue& samples = trained[i];
    steps_.push_back(samples.step);
    totals_.push_back({samples.value, sent_by(history, samples.step)});
    read_.read(trained, i);
  }
  const bool more = i < trained.size();
  over_ = over && !more;
  return more;
}

void Progress::put_into(SeriesPoint& point) const {
  point.samples = samples, point.bytes = bytes, point.simulated = simulated, point.passes = passes;
}

Progress ProgressCounter::at(double step) const {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), step);
  Progress progress;
  if (after != steps_.begin()) {
    const auto next = static_cast<std::size_t>(after - steps_.begin());
    Totals totals = totals_[next - 1];
    // If the totals at this step were thinned, they are interpolated between their neighbors.
    if (step > steps_[next - 1] && step <= thinned_until_ && after != steps_.end()) {
      const double part = (step - steps_[next - 1]) / (*after - steps_[next - 1]);
      totals.samples += part * (totals_[next].samples - totals.samples);
      totals.bytes += part * (totals_[next].bytes - totals.bytes);
    }
    progress.samples = totals.samples;
    progress.bytes = totals.bytes;
    progress.passes = totals.samples / samples_per_epoch_;
  }
  if (simulated_) progress.simulated = simulated_->seconds_until(static_cast<std::int64_t>(step));
  return progress;
}

bool StepClock::advance(const History& history, int rank, int step) {
  const Series* series = history.find({Metric::step_seconds, rank, 0});
  int read = 0;
  for (std::size_t i = series ? read_.next(*series) : 0;
       i < size_of(series) && series->steps[i] <= step; ++i, ++read) {
    seconds_ += series->values[i];
    read_.read(*series, i);
  }
  const int steps = step - std::exchange(step_, step);
  if (series && step <= series->thinned_until) return false;  // times of some steps are missing
  // If ranks run steps independently, other ranks execute the steps in between. So all times are
  // known, although this rank did not report every step.
  return history.steps_apart() || read == steps;
}

SourceReader::SourceReader(const Source& source)
    : rate_(source.rate),
      parts_(source.parts.begin(), source.parts.end()),
      gather_(static_cast<int>(source.keys.size() + source.parts.size()), source.over) {
  for (std::size_t i = 0; i < source.keys.size(); ++i)
    cursors_.push_back(
        {source.keys[i], source.factors.empty() ? 1 : source.factors[i], {}, {}, {}});
}

void SourceReader::gather(const SeriesPoint& point, std::vector<SeriesPoint>& out) {
  if (const auto done = gather_.add(point)) out.push_back(*done);
}

// Returns the increase per second of a running total. Bytes that were sent during steps of unknown
// duration are not counted.
std::optional<double> SourceReader::rate(const History& history, Cursor& cursor, int step,
                                         double total) {
  if (!cursor.clock.advance(history, cursor.key.rank, step)) cursor.meter = {};
  return cursor.meter.next(cursor.clock.seconds(), total);
}

bool SourceReader::read(const History& history, std::vector<SeriesPoint>& out) {
  bool more = false;
  for (Cursor& cursor : cursors_) {
    const Series* series = history.find(cursor.key);
    if (!series) continue;
    std::size_t i = cursor.next.next(*series);
    for (const std::size_t end = end_of_portion(i, series->size()); i < end; ++i) {
      cursor.next.read(*series, i);
      const auto value =
          rate_ ? rate(history, cursor, series->steps[i], series->values[i]) : series->values[i];
      if (value)
        gather({.step = static_cast<double>(series->steps[i]),
                .seconds = series->seconds[i],
                .value = *value * cursor.factor,
                .thinned = series->steps[i] <= series->thinned_until},
               out);
    }
    more = more || i < series->size();
  }
  for (SourceReader& part : parts_) {
    std::vector<SeriesPoint> points;
    more = part.read(history, points) || more;
    for (const SeriesPoint& point : points) gather(point, out);
  }
  return more;
}

StepSplit::StepSplit(int of) : of_(of) {
  for (telemetry::StepValues& values : values_) values.set_limit(kKeptSplits);
}

bool StepSplit::read(const History& history) {
  apart_ = of_ < 0 && history.steps_apart();
  if (of_ >= 0) return read_rank(history, of_, 1);
  bool more = false;
  for (int rank = 0; rank < history.ranks(); ++rank)
    more = read_rank(history, rank, history.reports_of_step()) || more;
  return more;
}

// Reads the reports of a rank. It reports the time of the full step first, and then the parts of
// that time. Steps with a lost report are omitted.
bool StepSplit::read_rank(const History& history, int rank, int ranks) {
  const Series* whole = history.find({Metric::step_seconds, rank, 0});
  std::array<const Series*, kStepParts - 1> series{};
  std::ranges::transform(kPartMetrics, series.begin(), [&](Metric metric) {
    return history.find({metric, rank, 0});
  });
  const Series* imposed = history.find({Metric::imposed_seconds, rank, 0});
  Cursor& at = cursors_[rank];
  std::size_t i = whole ? at.whole.next(*whole) : 0;
  for (const std::size_t end = end_of_portion(i, size_of(whole)); i < end; ++i) {
    const telemetry::StepValue step{whole->steps[i], whole->seconds[i], whole->values[i]};
    PartSeconds parts{};
    double rest = step.value;
    bool lost = false;
    for (std::size_t p = 0; p < series.size(); ++p) {
      const auto part = index_from(series[p], step.step, at.parts[p]);
      if (!part) return false;  // a part was not reported yet
      lost = lost || series[p]->steps[*part] != step.step;
      rest -= parts[p] = series[p]->values[*part];
    }
    parts[static_cast<std::size_t>(StepPart::overhead)] = std::max(rest, 0.0);
    parts[static_cast<std::size_t>(StepPart::imposed)] = value_of(imposed, step.step, at.imposed);
    at.whole.read(*whole, i);
    thinned_until_ = std::max(thinned_until_, whole->thinned_until);
    if (!lost) add(step, parts, ranks);
  }
  return i < size_of(whole);
}

void StepSplit::add(const telemetry::StepValue& whole, const PartSeconds& parts, int ranks) {
  Open& open = open_[whole.step];
  open.seconds = std::max(open.seconds, whole.seconds);
  for (std::size_t p = 0; p < parts.size() && of_ != LineChoice::kSlowest; ++p)
    open.parts[p] += parts[p] / ranks;
  if (of_ == LineChoice::kSlowest && whole.value > open.longest) open.parts = parts;
  open.longest = std::max(open.longest, whole.value);
  if (++open.reports < ranks) return;
  open.whole = true;
  if (apart_) return tell_in_order();
  const auto at = open_.find(whole.step);
  tell(at);
  open_.erase(open_.begin(), std::next(at));  // steps before this one can no longer be completed
}

void StepSplit::tell(std::map<std::int32_t, Open>::const_iterator step) {
  for (std::size_t p = 0; p < values_.size(); ++p)
    values_[p].push_back({step->first, step->second.seconds, step->second.parts[p]});
}

void StepSplit::tell_in_order() {
  for (auto first = open_.begin();
       first != open_.end() && (first->first <= next_ || open_.size() > kWaiting);
       first = open_.erase(first)) {
    if (first->first < next_) continue;
    if (first->second.whole) tell(first);
    next_ = first->first + 1;
  }
}

LineReader::LineReader(const LineSpec& spec)
    : spec_(spec), source_(spec.source), divisor_(spec.divisor) {}

bool LineReader::reads_as(const LineSpec& spec) const {
  return spec_.source == spec.source && spec_.divisor == spec.divisor &&
         spec_.gathered == spec.gathered && spec_.part == spec.part && spec_.level == spec.level;
}

bool LineReader::read_values(const telemetry::StepValues& values, std::vector<SeriesPoint>& out) {
  std::size_t i = next_value_.next(values);
  for (const std::size_t end = end_of_portion(i, values.size()); i < end; ++i) {
    const telemetry::StepValue& value = values[i];
    out.push_back({.step = static_cast<double>(value.step),
                   .seconds = value.seconds,
                   .value = value.value,
                   .thinned = value.step <= values.thinned_until()});
    next_value_.read(values, i);
  }
  return i < values.size();
}

// Divides the points of one source by those of the other at the same steps. Points at steps that
// only one source has are dropped.
bool LineReader::divide(const History& history, std::vector<SeriesPoint>& points) {
  dividends_.insert(dividends_.end(), points.begin(), points.end());
  points.clear();
  std::vector<SeriesPoint> below_points;
  const bool more = divisor_.read(history, below_points);
  divisors_.insert(divisors_.end(), below_points.begin(), below_points.end());
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
  return more;
}

bool LineReader::read(const History& history, const ProgressCounter& progress,
                      const StepSplit& split, std::vector<SeriesPoint>& out) {
  std::vector<SeriesPoint> points;
  bool more = spec_.gathered ? read_values((history.*spec_.gathered)(), points)
              : spec_.part   ? read_values(split.values(*spec_.part), points)
                             : source_.read(history, points);
  if (!spec_.divisor.keys.empty()) more = divide(history, points) || more;
  for (SeriesPoint& point : points) point.value = spec_.level.value_or(point.value);
  if (spec_.of_all_ranks)
    std::erase_if(points, [first = first_failed_step(history)](const SeriesPoint& point) {
      return point.step > first;
    });
  held_back_.insert(held_back_.end(), points.begin(), points.end());
  for (; !held_back_.empty() && progress.knows(held_back_.front().step); held_back_.pop_front()) {
    out.push_back(held_back_.front());
    progress.at(out.back().step).put_into(out.back());
    if (spec_.part) out.back().thinned = out.back().step <= split.thinned_until();
  }
  return more;
}

}  // namespace trainyard::ui
