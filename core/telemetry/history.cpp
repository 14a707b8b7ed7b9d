// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/history.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/units.h"

namespace trainyard::telemetry {
namespace {

constexpr int kMaxRanks = 1 << 16;

base::Problem not_understood(std::string what, std::string accepted) {
  return {"bad_recording", base::ProblemCode::bad_input, "recording",
          std::move(what), std::move(accepted),          ""};
}

std::string text_at(const base::Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

std::int64_t integer_at(const base::Json& object, const char* key, std::int64_t otherwise) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

std::optional<std::int64_t> time_of(const base::Json& object) {
  const auto at = object.find("time_ns");
  if (at == object.end() || !at->is_number_integer()) return std::nullopt;
  return at->get<std::int64_t>();
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
         type == FrameType::result;
}

}  // namespace

base::Result<void> History::take(const Frame& frame) {
  if (frame.type == FrameType::events) return take_events(frame);
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
  if (frame.type == FrameType::result) {
    conclude();
    result_ = base::SharedJson(std::move(*json));
  }
  return {};
}

void History::conclude() {
  train_.publish_ready(0);
  held_out_.publish_ready(0);
}

base::Result<void> History::take_header(const base::Json& json) {
  const auto ranks = json.find("ranks");
  if (ranks == json.end() || !ranks->is_number_integer() || *ranks < 1 || *ranks > kMaxRanks)
    return base::fail(not_understood("the header has no valid number of ranks",
                                     fmt::format("ranks: 1 to {}", kMaxRanks)));
  std::vector<std::string> segments;
  if (const auto names = json.find("segments"); names != json.end())
    for (const auto& name : *names)
      segments.push_back(name.is_string() ? name.get<std::string>() : name.dump());
  ranks_ = ranks->get<int>();
  take_reports(json);
  segments_ = std::move(segments);
  header_ = base::SharedJson(json);
  return {};
}

// Reads from the header how many ranks report each step. If all ranks execute every step together,
// the header does not state these numbers.
void History::take_reports(const base::Json& header) {
  const auto number = [&](const char* key, int otherwise) {
    const auto at = header.find(key);
    return at != header.end() && at->is_number_integer() && *at >= 1 && *at <= kMaxRanks
               ? at->get<int>()
               : otherwise;
  };
  first_server_ = number("first_server", -1);
  train_.needed = number("reports_of_step", ranks_);
  held_out_.needed = number("reports_of_evaluation", ranks_);
  const bool apart = header.contains("steps_apart") && header["steps_apart"].is_number_integer();
  if (!apart) return;
  train_.stride = 1;
  const auto applied = header.find("only_applied");
  train_.only_applied = applied != header.end() && applied->is_boolean() && *applied == true;
  held_out_.stride = header.contains("evaluator")
                         ? 0
                         : number("steps_apart", 1);  // An evaluator reports checkpoints in order.
  const auto first = static_cast<std::int32_t>(std::clamp<std::int64_t>(
      integer_at(header, "first_step", 0), 0, std::numeric_limits<std::int32_t>::max() / 2));
  train_.next = first;
  if (held_out_.stride > 0) held_out_.next = (first / held_out_.stride + 1) * held_out_.stride - 1;
}

void History::take_log(int rank, const base::Json& json) {
  const auto time_ns = time_of(json);
  log_.push_back(
      {rank, time_ns ? seconds_at(*time_ns) : 0, text_at(json, "level"), text_at(json, "text")});
}

void History::take_state(const base::Json& json) {
  const auto time_ns = time_of(json);
  // the time must be converted first, because the first entry with a time initializes the time
  // origin
  const double seconds = time_ns ? seconds_at(*time_ns) : 0;
  if (const auto fault = json.find("fault"); fault != json.end() && fault->is_object())
    faults_.push_back({text_at(*fault, "kind"), text_at(*fault, "text"),
                       static_cast<int>(integer_at(*fault, "rank", -1)),
                       integer_at(*fault, "step", integer_at(json, "step", 0)), seconds,
                       static_cast<int>(integer_at(*fault, "link", -1))});
  state_ = base::SharedJson(json);
  states_.push_back(state_);
}

base::Result<void> History::take_events(const Frame& frame) {
  const auto events = events_of(frame);
  if (!events) return base::fail(events.error());
  for (const Event& event : *events) {
    if (event.kind == EventKind::op) {
      take_op(frame.rank, event);
    } else if (event.kind == EventKind::metric) {
      take_metric(frame.rank, event);
    } else {
      return base::fail(not_understood("an event is neither an op nor a metric", "kind 1 or 2"));
    }
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
  series.steps.push_back(event.step);
  series.seconds.push_back(seconds);
  series.values.push_back(event.value);
  check_gradient_norm(rank, event, metric);
  if (metric == Metric::staleness && (rank == first_server_ || rank == event.index))
    staleness_.take(event.step, seconds, event.value);
  if (metric == Metric::squared_consensus_distance) take_disagreement(event, seconds);
  if (train_.only_applied && metric == Metric::staleness && rank == first_server_)
    train_.take_candidate(event.index, event, metric, seconds);
  train_.take(rank, event, metric, seconds);
  held_out_.take(rank, event, metric, seconds);
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
  if (const auto shrinks = header().find("lambda_2");
      shrinks != header().end() && shrinks->is_number())
    decay_to_last(shrinks->get<double>());
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
    skipped_updates_ = std::max(skipped_updates_, static_cast<std::int64_t>(event.value));
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
                      segment < segments_.size() ? segments_[segment] : std::to_string(segment),
                      skipped_updates_};
}

namespace {

// Returns the last step that has a value; -1 if there is none.
std::int32_t last_published_step(const std::vector<StepValue>& losses,
                                 const std::vector<StepValue>& accuracies) {
  return static_cast<std::int32_t>(std::max(losses.empty() ? -1 : losses.back().step,
                                            accuracies.empty() ? -1 : accuracies.back().step));
}

}  // namespace

void History::Reports::add(const Reports& other) {
  for (const auto& [sum, part] :
       {std::pair(&loss, &other.loss), std::pair(&correct, &other.correct),
        std::pair(&samples, &other.samples)})
    sum->total += part->total, sum->reports += part->reports;
}

History::Reports History::Candidates::counted() const {
  Reports sum;
  for (const auto& [rank, reports] : of_rank)
    if (applied.contains(rank)) sum.add(reports);
  return sum;
}

// Collects the report of a rank, or, for Metric::staleness, that its gradient was applied. The step
// is complete once all ranks whose gradients were applied have reported.
void History::Gathering::take_candidate(int rank, const Event& event, Metric metric,
                                        double seconds) {
  if (event.step <= last_published_step(losses, accuracies) || ahead.contains(event.step)) return;
  Candidates& step = candidates[event.step];
  if (metric == Metric::staleness) step.applied.insert(rank);
  else if (metric == loss) step.of_rank[rank].loss.add(event.value);
  else if (metric == correct) step.of_rank[rank].correct.add(event.value);
  else if (metric == samples) step.of_rank[rank].samples.add(event.value);
  else return;
  const Reports sum = step.counted();
  if (sum.samples.reports < needed) return;
  ahead[event.step] = {seconds, sum};
  candidates.erase(event.step);
  publish_ready(kept_ahead);
  // late reports of published steps are ignored, so their candidates are no longer needed
  candidates.erase(candidates.begin(),
                   candidates.upper_bound(last_published_step(losses, accuracies)));
}

void History::Gathering::take(int rank, const Event& event, Metric metric, double seconds) {
  if (only_applied) {
    if (metric == loss || metric == correct || metric == samples)
      take_candidate(rank, event, metric, seconds);
    return;
  }
  // ignores a report of a step that was already published, or whose missing reports count as lost
  if (stride > 0 && event.step <= last_published_step(losses, accuracies)) return;
  if (metric == loss) {
    open[event.step].loss.add(event.value);
  } else if (metric == correct) {
    open[event.step].correct.add(event.value);
  } else if (metric == samples) {
    Sum& sum = open[event.step].samples;
    sum.add(event.value);
    if (sum.reports == needed) finish(event.step, seconds);
  }
}

// Publishes a step that all ranks have reported. Ranks that execute steps together report them in
// order. So if an earlier step is still incomplete, one of its reports was lost, and the step is
// dropped.
void History::Gathering::finish(std::int32_t step, double seconds) {
  const auto at = open.find(step);
  if (stride == 0) {
    tell(step, seconds, at->second);
    open.erase(open.begin(), std::next(at));
    return;
  }
  ahead[step] = {seconds, at->second};
  open.erase(at);
  publish_ready(kept_ahead);
}

// Publishes complete steps that directly follow the published ones. If more than `kept` complete
// steps wait for a missing one, publishes the first of them. An evaluation after the last step may
// have a step number between two regular step numbers.
void History::Gathering::publish_ready(std::size_t kept) {
  while (!ahead.empty() && (ahead.begin()->first <= next || ahead.size() > kept)) {
    const auto& [step, whole] = *ahead.begin();
    published_seconds = std::max(published_seconds, whole.seconds);
    // drops a step that became complete too late, because its missing reports already counted as
    // lost
    if (step > last_published_step(losses, accuracies))
      tell(step, published_seconds, whole.reports);
    next = std::max(next, ((step + 1) / stride + 1) * stride - 1);
    ahead.erase(ahead.begin());
  }
}

void History::Gathering::tell(std::int32_t step, double seconds, const Reports& all) {
  if (all.samples.total <= 0) return;
  if (all.loss.reports == needed)
    losses.push_back({step, seconds, all.loss.total / all.samples.total});
  if (all.correct.reports == needed)
    accuracies.push_back({step, seconds, all.correct.total / all.samples.total});
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
    const auto taken = frame ? history.take(**frame) : base::fail(frame.error());
    if (!taken) {
      history.damage_ = fmt::format("The rest of the recording cannot be read: {}",
                                    base::to_string(taken.error()));
      return history;
    }
  }
  if (const std::size_t rest = reader->unfinished_bytes(); rest > 0)
    history.damage_ = fmt::format("The recording ends within a frame, so its last {} {} lost",
                                  base::counted(static_cast<std::int64_t>(rest), "byte"),
                                  rest == 1 ? "is" : "are");
  return history;
}

}  // namespace trainyard::telemetry
