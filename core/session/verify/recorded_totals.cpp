// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/recorded_totals.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "core/base/units.h"
#include "core/telemetry/bounded_recording.h"
#include "core/telemetry/recorded_documents.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/series_block.h"

namespace trainyard::session {
namespace {

using base::Json;
using telemetry::Event;
using telemetry::EventKind;
using telemetry::Frame;
using telemetry::FrameType;
using telemetry::Metric;

constexpr std::int64_t kMaxRanks = 1 << 16;

std::int64_t integer_at(const Json& object, const char* key, std::int64_t otherwise) {
  const auto at = object.find(key);
  return at != object.end() && at->is_number_integer() ? at->get<std::int64_t>() : otherwise;
}

// Counter of a rank. A new process of the rank counts from 0 again.
struct Counter {
  double before = 0, last = 0;
  void take(double value) {
    if (value < last) before += last;
    last = value;
  }
  double total() const { return before + last; }
};

struct Sum {
  double total = 0;
  int reports = 0;
  void add(double value) { total += value, ++reports; }
};

bool is_counter(Metric metric) {
  return metric == Metric::sent_payload_bytes || metric == Metric::received_payload_bytes ||
         metric == Metric::sent_header_bytes || metric == Metric::received_header_bytes ||
         metric == Metric::dropped_events;
}

// Reports of ranks on the samples of one step.
struct Reports {
  Sum loss, correct, samples;
};

// Reports of one step, by rank. Used if only ranks with applied gradients count.
struct RankReports {
  std::map<int, Reports> of_rank;
  std::set<int> applied;
};

// Reports on one kind of samples, training or held-out, by step.
class StepReports {
 public:
  StepReports(Metric loss, Metric correct, Metric samples)
      : loss_(loss), correct_(correct), samples_(samples) {}

  void set_needed(std::int64_t needed) { needed_ = static_cast<int>(needed); }
  void count_only_applied() { only_applied_ = true; }
  void take_applied(std::int32_t step, int rank) { by_rank_[step].applied.insert(rank); }

  void take(Metric metric, int rank, const Event& event) {
    if (metric != loss_ && metric != correct_ && metric != samples_) return;
    Reports& reports = only_applied_ ? by_rank_[event.step].of_rank[rank] : steps_[event.step];
    // Reports that arrive after the needed ones belong to gradients that were not used.
    if (reports.samples.reports >= needed_) return;
    if (metric == loss_) reports.loss.add(event.value);
    if (metric == correct_) reports.correct.add(event.value);
    if (metric == samples_) reports.samples.add(event.value);
  }

  LastFigures last() {
    for (const auto& [step, reports] : by_rank_)
      for (const int rank : reports.applied)
        if (const auto at = reports.of_rank.find(rank); at != reports.of_rank.end())
          add(at->second, steps_[step]);
    by_rank_.clear();
    for (auto at = steps_.rbegin(); at != steps_.rend(); ++at) {
      const auto& [step, reports] = *at;
      const double samples = reports.samples.total;
      if (reports.samples.reports < needed_ || samples <= 0) continue;
      LastFigures figures{step, {}, {}};
      if (reports.loss.reports == needed_) figures.loss = reports.loss.total / samples;
      if (reports.correct.reports == needed_) figures.accuracy = reports.correct.total / samples;
      return figures;
    }
    return {};
  }

 private:
  static void add(const Reports& reports, Reports& to) {
    for (Sum Reports::*sum : {&Reports::loss, &Reports::correct, &Reports::samples}) {
      (to.*sum).total += (reports.*sum).total;
      (to.*sum).reports += (reports.*sum).reports;
    }
  }

  Metric loss_, correct_, samples_;
  int needed_ = 1;  // Number of ranks that report a step.
  bool only_applied_ = false;
  std::map<std::int32_t, Reports> steps_;
  std::map<std::int32_t, RankReports> by_rank_;
};

// For each program of a rank, by index: which ops send.
std::vector<std::vector<bool>> sending_ops(const plan::RankPlan& rank) {
  std::vector<std::vector<bool>> programs;
  for (const plan::Program& program : rank.programs) {
    std::vector<bool>& ops = programs.emplace_back();
    for (const plan::Op& op : program.ops) ops.push_back(op.kind == plan::OpKind::send);
  }
  return programs;
}

class Adder {
 public:
  explicit Adder(const plan::Plan* plan) {
    for (std::int32_t rank = 0; plan != nullptr && rank < plan->ranks; ++rank)
      sends_.push_back(sending_ops(plan->rank_plan(rank)));
  }

  base::Result<void> take(const Frame& frame) {
    if (frame.type == FrameType::metrics || frame.type == FrameType::blocks)
      totals_.is_thinned = true;
    if (frame.type == FrameType::events || frame.type == FrameType::metrics)
      return telemetry::rank_events_of(frame).map(
          [&](const std::vector<telemetry::RankEvent>& events) {
            for (const auto& [rank, event] : events) take(rank, event);
          });
    if (frame.type == FrameType::blocks)
      return telemetry::unpack_blocks(frame.payload)
          .map([&](const std::vector<telemetry::SeriesBlock>& blocks) {
            for (const telemetry::SeriesBlock& block : blocks) take(block);
          });
    if (frame.type != FrameType::header && frame.type != FrameType::state &&
        frame.type != FrameType::result && frame.type != FrameType::thinning)
      return {};
    return telemetry::json_of(frame).map([&](const Json& json) {
      base::Problems problems;
      if (frame.type == FrameType::state) telemetry::read_state(json, problems);
      if (frame.type == FrameType::thinning) telemetry::read_thinning(json, problems);
      if (frame.type == FrameType::result) {
        telemetry::read_result(json, problems);
        totals_.result = json;
      }
      if (frame.type == FrameType::header) {
        telemetry::read_header(json, problems);
        if (json.is_object()) take_header(json);
      }
      totals_.invalid_values.insert(totals_.invalid_values.end(), problems.begin(), problems.end());
    });
  }

  RecordedTotals finish(std::string damage) {
    totals_.damage = std::move(damage);
    add_counters();
    add_samples(dropped_, &RankTotals::dropped_samples);
    add_samples(unapplied_, &RankTotals::unapplied_samples);
    add_steps();
    totals_.train = train_.last();
    totals_.held_out = held_out_.last();
    for (const auto& [step, sum] : distances_)
      if (sum.reports == std::ssize(totals_.ranks))
        totals_.consensus_distance = std::sqrt(sum.total / static_cast<double>(sum.reports));
    return std::move(totals_);
  }

 private:
  void take_header(const Json& header) {
    totals_.header = header;
    const std::int64_t ranks =
        std::clamp<std::int64_t>(integer_at(header, "ranks", 0), 0, kMaxRanks);
    totals_.ranks.resize(static_cast<std::size_t>(ranks));
    samples_.resize(static_cast<std::size_t>(ranks));
    needed_ = integer_at(header, "reports_of_step", ranks);
    train_.set_needed(needed_);
    held_out_.set_needed(integer_at(header, "reports_of_evaluation", ranks));
    if (header.value("only_applied", Json(false)) == true) train_.count_only_applied();
  }

  void take(int rank, const Event& event) {
    if (rank < 0 || rank >= std::ssize(totals_.ranks)) return;
    if (event.kind == EventKind::op) take_op(rank, event);
    if (event.kind == EventKind::metric) take_metric(rank, event, Metric{event.subject});
  }

  // Takes a summary of values that were not recorded one by one.
  void take(const telemetry::SeriesBlock& block) {
    const Metric metric{block.metric};
    if (block.rank < 0 || block.rank >= std::ssize(totals_.ranks) || block.count == 0 ||
        !is_counter(metric) || telemetry::is_always_recorded(metric))
      return;
    Counter& counter = counters_[{metric, block.rank, block.index}];
    counter.take(block.first.value);
    counter.before += block.before_resets;
    counter.last = block.last.value;
  }

  void take_op(int rank, const Event& event) {
    ++totals_.ops;
    if (rank >= std::ssize(sends_)) return;
    const auto& programs = sends_[static_cast<std::size_t>(rank)];
    if (event.index < programs.size() && event.subject < programs[event.index].size() &&
        programs[event.index][event.subject])
      totals_.sent_op_bytes += event.value;
  }

  void take_metric(int rank, const Event& event, Metric metric) {
    train_.take(metric, rank, event);
    held_out_.take(metric, rank, event);
    if (is_counter(metric)) counters_[{metric, rank, event.index}].take(event.value);
    switch (metric) {
      case Metric::samples:
        totals_.ranks[static_cast<std::size_t>(rank)].samples += event.value;
        samples_[static_cast<std::size_t>(rank)].try_emplace(event.step, event.value);
        break;
      case Metric::step_seconds: {
        StepTime& time = times_[event.step];
        time.seconds = std::max(time.seconds, event.value);
        ++time.reports;
        break;
      }
      case Metric::dropped_gradients:
        dropped_.emplace_back(event.index, event.step);
        dropped_totals_[{rank, event.index}] = event.value;
        break;
      case Metric::unapplied_gradients: unapplied_.emplace_back(event.index, event.step); break;
      case Metric::staleness: take_staleness(rank, event); break;
      case Metric::squared_consensus_distance: distances_[event.step].add(event.value); break;
      default: break;
    }
  }

  // Every server reports the staleness of its share of a gradient; only the first server counts. A
  // rank that updates after every micro-batch reports its own gradients.
  void take_staleness(int rank, const Event& event) {
    const bool of_server = rank == integer_at(totals_.header, "first_server", -1);
    if (of_server) train_.take_applied(event.step, event.index);
    if (of_server || rank == event.index) totals_.staleness.push_back(event.value);
  }

  void add_counters() {
    for (const auto& [key, counter] : counters_) {
      const auto& [metric, rank, peer] = key;
      RankTotals& totals = totals_.ranks[static_cast<std::size_t>(rank)];
      double& figure = metric == Metric::sent_payload_bytes       ? totals.sent_payload_bytes
                       : metric == Metric::received_payload_bytes ? totals.received_payload_bytes
                       : metric == Metric::sent_header_bytes      ? totals.sent_header_bytes
                       : metric == Metric::received_header_bytes  ? totals.received_header_bytes
                                                                  : totals.dropped_events;
      figure += counter.total();
    }
    for (const auto& [key, total] : dropped_totals_) totals_.dropped_gradients += total;
  }

  using Gradients = std::vector<std::pair<int, std::int32_t>>;  // Worker and step.

  void add_samples(const Gradients& gradients, double RankTotals::*figure) {
    for (const auto& [worker, step] : gradients) {
      if (worker >= std::ssize(samples_)) continue;
      const auto& steps = samples_[static_cast<std::size_t>(worker)];
      if (const auto at = steps.find(step); at != steps.end())
        totals_.ranks[static_cast<std::size_t>(worker)].*figure += at->second;
    }
  }

  // Returns the number of steps whose samples the required number of ranks has reported.
  std::int64_t steps_with_samples() const {
    std::map<std::int32_t, std::int64_t> reports;
    for (const auto& of_rank : samples_)
      for (const auto& [step, samples] : of_rank) ++reports[step];
    return std::ranges::count_if(reports, [&](const auto& one) { return one.second >= needed_; });
  }

  void add_steps() {
    for (const auto& [step, time] : times_)
      if (time.reports >= needed_) totals_.step_seconds.push_back(time.seconds);
    totals_.steps = totals_.is_thinned ? steps_with_samples() : std::ssize(totals_.step_seconds);
    std::sort(totals_.step_seconds.begin(), totals_.step_seconds.end());
  }

  struct StepTime {
    double seconds = 0;
    int reports = 0;
  };

  RecordedTotals totals_;
  std::int64_t needed_ = 0;
  StepReports train_{Metric::loss_sum, Metric::correct, Metric::samples};
  StepReports held_out_{Metric::held_out_loss_sum, Metric::held_out_correct,
                        Metric::held_out_samples};
  std::map<std::int32_t, StepTime> times_;
  std::vector<std::map<std::int32_t, double>> samples_;  // By rank and step.
  std::map<std::tuple<Metric, int, int>, Counter> counters_;
  Gradients dropped_, unapplied_;
  std::map<std::pair<int, int>, double> dropped_totals_;
  std::map<std::int32_t, Sum> distances_;
  std::vector<std::vector<std::vector<bool>>> sends_;  // By rank, program and op.
};

}  // namespace

double RecordedTotals::sum(double RankTotals::*figure) const {
  return std::accumulate(
      ranks.begin(), ranks.end(), 0.0,
      [&](double so_far, const RankTotals& rank) { return so_far + rank.*figure; });
}

base::Result<RecordedTotals> add_up_recording(const std::filesystem::path& run_directory,
                                              const plan::Plan* plan) {
  auto reader = telemetry::RecordingReader::open(run_directory / telemetry::kRecordingFile);
  if (!reader) return base::fail(reader.error());
  Adder adder(plan);
  for (;;) {
    const auto frame = reader->next();
    if (frame && !*frame) break;
    const auto taken = frame ? adder.take(**frame) : base::fail(frame.error());
    if (!taken)
      return adder.finish(fmt::format("the rest of the recording cannot be read: {}",
                                      base::to_string(taken.error())));
  }
  const auto rest = static_cast<std::int64_t>(reader->unfinished_bytes());
  return adder.finish(rest == 0
                          ? ""
                          : fmt::format("the recording ends within a frame; its last {} {} "
                                        "lost",
                                        base::counted(rest, "byte"), rest == 1 ? "is" : "are"));
}

}  // namespace trainyard::session
