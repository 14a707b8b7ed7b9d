// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/base/whole_number.h"
#include "core/telemetry/bounded_recording.h"
#include "core/telemetry/thinned_indices.h"

namespace trainyard::telemetry {
namespace {

// Largest step that is accepted. Below this bound, sums of a step and a number of steps between
// evaluations do not overflow.
constexpr std::int32_t kMaxStep = std::numeric_limits<std::int32_t>::max() / 4;

base::Problem not_understood(std::string what, std::string accepted) {
  return {"bad_recording", base::ProblemCode::bad_input, "recording",
          std::move(what), std::move(accepted),          ""};
}

bool is_known(Metric metric) { return base::name_of(metric) != "?"; }

// Returns the difference of two times modulo 2^64. Avoids an overflow, because times in a malicious
// recording may be arbitrary.
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

base::Result<base::Json> object_of(const Frame& frame) {
  auto json = json_of(frame);
  if (json && !json->is_object())
    return base::fail(not_understood("the JSON of a frame is not an object", "{...}"));
  return json;
}

bool is_json(FrameType type) {
  return type == FrameType::header || type == FrameType::log || type == FrameType::state ||
         type == FrameType::result || type == FrameType::thinning;
}

// Returns the value at a step; 0 if there is none.
double value_at_step(const Series& series, std::int32_t step) {
  const auto at = std::lower_bound(series.steps.begin(), series.steps.end(), step);
  return at != series.steps.end() && *at == step
             ? series.values[static_cast<std::size_t>(at - series.steps.begin())]
             : 0;
}

}  // namespace

void Series::add(std::int32_t step, double seconds_at_step, double value) {
  steps.push_back(step);
  seconds.push_back(seconds_at_step);
  values.push_back(value);
  numbers.push_back(number_added++);
}

void Series::thin_older_half() {
  const std::size_t half = values.size() / 2;
  const auto kept = thinned_indices(
      half, [&](std::size_t i) { return static_cast<double>(steps[i]); },
      [&](std::size_t i) { return values[i]; });
  if (half > 0) thinned_until = std::max(thinned_until, steps[half - 1]);
  keep_indices(steps, kept, half);
  keep_indices(seconds, kept, half);
  keep_indices(values, kept, half);
  keep_indices(numbers, kept, half);
}

namespace {

// There are few lists of values over all ranks, so they may be longer than series of ranks.
constexpr std::size_t kMoreOfLists = 8;

}  // namespace

History::History(std::size_t kept_values) : kept_values_(kept_values) {
  for (StepValues* list :
       {&train_.losses, &train_.accuracies, &train_.trained, &held_out_.trained, &held_out_.losses,
        &held_out_.accuracies, &consensus_, &consensus_decay_})
    list->set_limit(kMoreOfLists * kept_values);
  staleness_.set_limit(kMoreOfLists * kept_values);
}

base::Result<void> History::take(const Frame& frame) {
  if (frame.type == FrameType::events || frame.type == FrameType::metrics)
    return take_events(frame);
  if (frame.type == FrameType::blocks) return take_blocks(frame);
  if (frame.type == FrameType::samples) return take_values(frame);
  if (frame.type == FrameType::plan)
    plans_[frame.rank].assign(reinterpret_cast<const char*>(frame.payload.data()),
                              frame.payload.size());
  if (!is_json(frame.type)) return {};
  auto json = object_of(frame);
  if (!json) return base::fail(json.error());
  if (frame.type == FrameType::header) return take_header(*json);
  if (frame.type == FrameType::log) take_log(frame.rank, *json);
  if (frame.type == FrameType::state) take_state(*json);
  if (frame.type == FrameType::thinning) take_thinning(*json);
  if (frame.type == FrameType::result) take_result(std::move(*json));
  return {};
}

void History::conclude() {
  train_.publish_ready(0);
  held_out_.publish_ready(0);
}

// Keeps the text about the first damage: later damage is often a consequence.
void History::note_damage(std::string text) {
  if (damage_.empty()) damage_ = std::move(text);
}

void History::note_invalid_values(const char* frame, const base::Problems& problems) {
  if (problems.empty()) return;
  base::Problem first = problems.front();
  first.where = fmt::format("{} frame: {}", frame, first.where);
  first.advice.clear();
  note_damage(fmt::format("The recording has invalid values, which are ignored: {}",
                          base::to_string(first)));
}

base::Result<void> History::take_header(const base::Json& json) {
  base::Problems problems;
  RecordedHeader header = read_header(json, problems);
  if (header.ranks < 1)
    return base::fail(not_understood("the header has no valid number of ranks",
                                     fmt::format("ranks: 1 to {}", kMaxRanks)));
  note_invalid_values("header", problems);
  ranks_ = header.ranks;
  recorded_header_ = std::move(header);
  take_reports();
  header_ = base::SharedJson(json);
  return {};
}

// Reads from the header how many ranks report each step. If all ranks execute every step together,
// the header does not state these numbers.
void History::take_reports() {
  const RecordedHeader& header = recorded_header_;
  for (Gathering* gathering : {&train_, &held_out_}) {
    // A damaged recording may have a second header. Steps that wait for earlier ones are dropped,
    // because they were numbered as the first header states.
    gathering->stride = 0;
    gathering->ahead.clear();
    gathering->candidates.clear();
  }
  first_server_ = header.first_server;
  train_.needed = header.reports_of_step > 0 ? header.reports_of_step : ranks_;
  step_statistics_.set_needed(train_.needed);
  held_out_.needed = header.reports_of_evaluation > 0 ? header.reports_of_evaluation : ranks_;
  if (header.steps_apart == 0) return;
  train_.stride = 1;
  train_.only_applied = header.only_applied;
  held_out_.stride =
      header.evaluator >= 0  // An evaluator reports checkpoints in order.
          ? 0
          : static_cast<std::int32_t>(std::min<std::int64_t>(header.steps_apart, kMaxStep));
  const auto first = static_cast<std::int32_t>(std::min<std::int64_t>(header.first_step, kMaxStep));
  train_.next = first;
  if (held_out_.stride > 0) held_out_.next = (first / held_out_.stride + 1) * held_out_.stride - 1;
}

void History::take_log(int rank, const base::Json& json) {
  base::Problems problems;
  RecordedLogLine line = read_log_line(json, problems);
  note_invalid_values("log", problems);
  log_.push_back({rank, line.time_ns ? seconds_at(*line.time_ns) : 0, std::move(line.level),
                  std::move(line.text)});
}

void History::take_state(const base::Json& json) {
  base::Problems problems;
  RecordedState state = read_state(json, problems);
  note_invalid_values("state", problems);
  // the time must be converted first, because the first entry with a time initializes the time
  // origin
  const double seconds = state.time_ns ? seconds_at(*state.time_ns) : 0;
  if (state.fault) {
    state.fault->seconds = seconds;
    faults_.push_back(*state.fault);
  }
  recorded_states_.push_back(std::move(state));
  state_ = base::SharedJson(json);
  states_.push_back(state_);
}

void History::take_result(base::Json json) {
  base::Problems problems;
  recorded_result_ = read_result(json, problems);
  note_invalid_values("result", problems);
  conclude();
  result_ = base::SharedJson(std::move(json));
}

// Events with impossible step numbers are damage. Sums of such numbers could overflow.
bool History::is_possible(const Event& event) {
  if (event.step >= -1 && event.step <= kMaxStep) return true;
  note_damage(fmt::format("The recording has an event of step {}, which is ignored.", event.step));
  return false;
}

base::Result<void> History::take_events(const Frame& frame) {
  const auto events = rank_events_of(frame);
  if (!events) return base::fail(events.error());
  for (const auto& [rank, event] : *events) {
    if (event.kind != EventKind::op && event.kind != EventKind::metric)
      return base::fail(not_understood("an event is neither an op nor a metric", "kind 1 or 2"));
    if (!is_possible(event)) continue;
    if (frame.type == FrameType::metrics) note_thinned(event.step);
    if (event.kind == EventKind::op) take_op(rank, event);
    else take_metric(rank, event);
  }
  return {};
}

void History::take_thinning(const base::Json& json) {
  base::Problems problems;
  thinning_ = read_thinning(json, problems);
  note_invalid_values("thinning", problems);
}

// Adds the values of summaries to their series. Metrics that a result is made of are never
// summarized.
base::Result<void> History::take_blocks(const Frame& frame) {
  const auto blocks = unpack_blocks(frame.payload);
  if (!blocks) return base::fail(blocks.error());
  for (const SeriesBlock& block : *blocks) {
    const Metric metric{block.metric};
    if (!is_known(metric) || block.count == 0) continue;
    if (is_always_recorded(metric) || block.rank < 0 || block.rank >= ranks_ ||
        block.last.step > kMaxStep) {
      note_damage("The recording has a summary of impossible values, which is ignored.");
      continue;
    }
    Series& series = series_[{metric, block.rank, block.index}];
    for (const LoggedValue& at : block.points()) {
      Event event;
      event.step = at.step;
      if (is_possible(event)) series.add(at.step, seconds_at(at.time_ns), at.value);
    }
    series.totals.add(block);
    series.thinned_until = std::max(series.thinned_until, block.last.step);
    note_thinned(block.last.step);
    if (metric == Metric::step_seconds)
      step_statistics_.take_block(seconds_at(block.first.time_ns) - block.first.value,
                                  seconds_at(block.last.time_ns));
    limit(series);
  }
  return {};
}

// If values with the same key are recorded twice, keeps the first.
base::Result<void> History::take_values(const Frame& frame) {
  return chunk_values_of(frame.payload).map([&](std::vector<ChunkValues> list) {
    for (ChunkValues& values : list)
      if (const ChunkValuesKey key{values.group, values.bucket, values.step, frame.rank};
          !chunk_values_.contains(key))
        chunk_values_.emplace(key, std::move(values));
  });
}

void History::take_op(int rank, const Event& event) {
  if (ops_.size() >= kept_ops + kept_ops / 4) {
    ops_.erase(ops_.begin(), ops_.begin() + kept_ops / 4);
    evicted_ops_ += kept_ops / 4;
  }
  ops_.push_back({rank, event.step, event.index, event.subject, seconds_at(event.begin_ns),
                  seconds_at(event.ready_ns), seconds_at(event.end_ns), event.value,
                  event.imposed_seconds});
}

void History::take_metric(int rank, const Event& event) {
  const Metric metric{event.subject};
  if (!is_known(metric)) return;
  const double seconds = seconds_at(event.begin_ns);
  Series& series = series_[{metric, rank, event.index}];
  series.add(event.step, seconds, event.value);
  series.totals.add(event.value);
  limit(series);
  if (metric == Metric::step_seconds) step_statistics_.take(event.step, seconds, event.value);
  if (metric == Metric::samples) take_samples(rank, event);
  if (metric == Metric::dropped_gradients || metric == Metric::unapplied_gradients)
    take_gradient(metric, event.index, event.step);
  if (metric == Metric::staleness)
    ++staleness_counts_[{metric, rank, event.index}][base::whole_number(event.value)];
  check_gradient_norm(rank, event, metric);
  if (metric == Metric::staleness && (rank == first_server_ || rank == event.index))
    staleness_.take(event.step, seconds, event.value);
  if (metric == Metric::squared_consensus_distance) take_disagreement(event, seconds);
  if (train_.only_applied && metric == Metric::staleness && rank == first_server_)
    train_.take_candidate(event.index, event, metric, seconds);
  train_.take(rank, event, metric, seconds);
  held_out_.take(rank, event, metric, seconds);
}

void History::note_thinned(std::int32_t step) {
  recording_thinned_until_ = std::max(recording_thinned_until_, step);
  thinned_until_ = std::max(thinned_until_, step);
}

void History::limit(Series& series) {
  if (kept_values_ == 0 || series.values.size() < 2 * kept_values_) return;
  series.thin_older_half();
  thinned_until_ = std::max(thinned_until_, series.thinned_until);
}

// Counts the samples of a gradient that had no effect.
void History::take_gradient(Metric metric, int worker, std::int32_t step) {
  const Series* samples = find({Metric::samples, worker, 0});
  const bool reported = samples != nullptr && samples->steps.back() >= step;
  if (reported) samples_of_gradients_[{metric, worker}] += value_at_step(*samples, step);
  else gradients_without_samples_[{worker, step}] = metric;
}

void History::take_samples(int rank, const Event& event) {
  step_statistics_.take_samples(event.step);
  if (gradients_without_samples_.empty()) return;
  const auto at = gradients_without_samples_.find({rank, event.step});
  if (at == gradients_without_samples_.end()) return;
  samples_of_gradients_[{at->second, rank}] += event.value;
  gradients_without_samples_.erase(at);
}

double History::samples_of_gradients(Metric metric, int worker) const {
  const auto at = samples_of_gradients_.find({metric, worker});
  return at == samples_of_gradients_.end() ? 0 : at->second;
}

const std::map<std::int64_t, std::int64_t>& History::staleness_counts(const SeriesKey& key) const {
  static const std::map<std::int64_t, std::int64_t> none;
  const auto at = staleness_counts_.find(key);
  return at == staleness_counts_.end() ? none : at->second;
}

// Adds a rank's consensus distance. All ranks measure at the same steps, in order. So if an earlier
// step is still incomplete, a report of it was lost.
void History::take_disagreement(const Event& event, double seconds) {
  Sum& sum = open_consensus_sums_[event.step];
  sum.add(event.value);
  if (sum.reports < ranks_) return;
  consensus_.push_back({event.step, seconds, std::sqrt(sum.total / ranks_)});
  open_consensus_sums_.erase(open_consensus_sums_.begin(),
                             open_consensus_sums_.upper_bound(event.step));
  if (!std::isnan(recorded_header_.lambda_2)) decay_to_last(recorded_header_.lambda_2);
}

void History::decay_to_last(double shrinks) {
  const StepValue& last = consensus_.back();
  const StepValue before = consensus_.size() > 1 ? consensus_[consensus_.size() - 2] : last;
  const std::int64_t steps = std::int64_t{last.step} - before.step;
  const auto push = [&](std::int64_t i) {
    const auto passed = static_cast<double>(i);
    consensus_decay_.push_back(
        {static_cast<std::int32_t>(before.step + i),
         before.seconds + (last.seconds - before.seconds) * passed / static_cast<double>(steps),
         before.value * std::pow(shrinks, passed)});
  };
  for (std::int64_t i = 1; i < steps && i <= kDecaySteps; ++i) push(i);
  if (steps > 0) push(steps);
  consensus_decay_.push_back(last);
}

void History::check_gradient_norm(int rank, const Event& event, Metric metric) {
  if (metric == Metric::skipped_updates)
    skipped_updates_ = std::max(skipped_updates_, base::whole_number(event.value));
  if (std::isfinite(event.value) ||
      (metric != Metric::local_gradient_norm && metric != Metric::reduced_gradient_norm))
    return;
  const std::tuple found{event.step, metric == Metric::reduced_gradient_norm, rank,
                         -static_cast<int>(event.index)};
  if (!bad_gradients_ || found < *bad_gradients_) bad_gradients_ = found;
}

// Returns nothing if loss scaling is used, because loss scaling tries scales that give non-finite
// gradients.
std::optional<BadGradients> History::bad_gradients() const {
  if (!bad_gradients_ || find({Metric::loss_scale, 0, 0}) != nullptr) return std::nullopt;
  const auto& [step, summed, rank, from_last] = *bad_gradients_;
  const auto segment = static_cast<std::size_t>(-from_last);
  return BadGradients{step, rank,
                      segment < segments().size() ? segments()[segment] : std::to_string(segment),
                      skipped_updates_};
}

double History::seconds_at(std::int64_t time_ns) {
  if (!first_ns_) first_ns_ = time_ns;
  return base::seconds(difference(time_ns, *first_ns_));
}

const Series* History::find(const SeriesKey& key) const {
  const auto at = series_.find(key);
  return at == series_.end() ? nullptr : &at->second;
}

const std::string& History::plan_text(int rank) const {
  static const std::string none;
  const auto at = plans_.find(rank);
  return at == plans_.end() ? none : at->second;
}

base::Result<History> History::load(const std::filesystem::path& run_directory) {
  auto reader = RecordingReader::open(run_directory / kRecordingFile);
  if (!reader) return base::fail(reader.error());
  History history;
  for (;;) {
    const auto frame = reader->next();
    if (frame && !*frame) break;
    if (!frame) {
      history.note_damage(fmt::format("The rest of the recording cannot be read: {}",
                                      base::to_string(frame.error())));
      return history;
    }
    if (const auto taken = history.take(**frame); !taken)
      history.note_damage(fmt::format("A part of the recording cannot be read: {}",
                                      base::to_string(taken.error())));
    if (history.ranks_ == 0) return history;  // Other frames have no meaning without the header.
  }
  if (const std::size_t rest = reader->unfinished_bytes(); rest > 0)
    history.note_damage(fmt::format("The recording ends within a frame, so its last {} {} lost",
                                    base::counted(static_cast<std::int64_t>(rest), "byte"),
                                    rest == 1 ? "is" : "are"));
  return history;
}

}  // namespace trainyard::telemetry
