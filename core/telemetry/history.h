// SPDX-License-Identifier: GPL-3.0-or-later
// A recording in memory, by columns, as charts, summaries and exports want it: every metric of
// every rank over all steps, unthinned, the logs, the states and the result. Fed frame by frame,
// live or at once.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/telemetry/chunk_values.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/staleness_blocks.h"
#include "core/telemetry/step_value.h"

namespace trainyard::telemetry {

struct SeriesKey {
  Metric metric{};
  int rank = 0;
  int index = 0;  // segment or peer; 0 where a metric has none
  bool operator<(const SeriesKey& other) const {
    return std::tie(metric, rank, index) < std::tie(other.metric, other.rank, other.index);
  }
  bool operator==(const SeriesKey&) const = default;
};

// Points in order of arrival; only what was logged.
struct Series {
  std::vector<std::int32_t> steps;
  std::vector<double>
      seconds;  // since the first thing that the recording timed (an event, a log line or a state)
  std::vector<double> values;
};

struct LogLine {
  int rank = -1;
  double seconds = 0;
  std::string level, text;
};

// An op that ran. Seconds as in a series.
struct OpRecord {
  int rank = 0, step = 0, program = 0, op = 0;
  double begin = 0, ready = 0, end = 0;
  double bytes = 0;
  double imposed =
      0;  // seconds before the end in which it was held back: it was to take longer than it did
};

// What befell a rank: it was lost, killed, stalled, slowed, came back; or a link: it was cut,
// slowed, restored. Seconds as in a series.
struct Fault {
  std::string kind, text;
  int rank = -1;  // -1: it was a link
  std::int64_t step =
      0;  // of the run; where ranks go each on its own clock without servers, that of the rank
  double seconds = 0;
  int link = -1;  // of the drawing
};

// Gradients with a number in them that is infinite or none.
struct BadGradients {
  std::int64_t step =
      0;  // the first: of a rank's own gradient where there is one, else of the sum over all ranks
  int rank = 0;
  std::string segment;
  std::int64_t skipped_updates = 0;
  bool operator==(const BadGradients&) const = default;
};

class History {
 public:
  // A frame that cannot be understood is a Problem; it changes nothing, or is taken up to the event
  // that is wrong. Types of frames and metrics that this version does not know are passed over.
  base::Result<void> take(const Frame& frame);
  // Nothing more is measured: what waited for steps that nobody will tell is told. A result says
  // so, too.
  void conclude();

  // Reads all whole frames of the recording in `run_directory`; a torn or damaged tail becomes
  // `damage()`. A Problem when there is no recording at all.
  static base::Result<History> load(const std::filesystem::path& run_directory);

  const base::Json& header() const { return *header_; }
  const base::Json& state() const { return *state_; }    // the last one
  const base::Json& result() const { return *result_; }  // null until the run ended
  const std::string& damage() const { return damage_; }  // for a person; "" when all is well
  int ranks() const { return ranks_; }
  int reports_of_step() const {
    return train_.needed;
  }  // ranks that do a step: all, or where workers have servers and go apart, one
  bool steps_apart() const {
    return train_.stride > 0 && train_.needed == 1;
  }  // each is one rank's, and a later one may be over before an earlier one
  const std::vector<std::string>& segments() const { return segments_; }
  const std::map<SeriesKey, Series>& series() const { return series_; }
  const Series* find(const SeriesKey& key) const;  // null when nothing was logged
  const std::deque<LogLine>& log() const {
    return log_;
  }  // grows without being moved, however long
  std::optional<BadGradients> bad_gradients() const;
  const std::vector<base::SharedJson>& states() const { return states_; }
  const std::vector<Fault>& faults() const { return faults_; }
  const std::string& plan_text(int rank) const;  // "" when not recorded

  // Those of a few steps. Only grows.
  const std::map<ChunkValuesKey, ChunkValues>& chunk_values() const { return chunk_values_; }

  // The last ops, `kept_ops` of them at least, in order of arrival. Older ones go a quarter of that
  // at a time; `forgotten_ops` counts them, so ops()[i] is op number forgotten_ops() + i of the
  // recording.
  const std::vector<OpRecord>& ops() const { return ops_; }
  std::uint64_t forgotten_ops() const { return forgotten_ops_; }

  // Weighted by samples over all ranks, steps that every rank which does them has reported in full,
  // in their order: train loss, train accuracy, held-out loss and accuracy. A rank reports a sum,
  // the count of right ones and then the samples; a step with a lost report has no value. Grows at
  // the end only, so views keep an index.
  const std::vector<StepValue>& train_loss() const { return train_.losses; }
  const std::vector<StepValue>& train_accuracy() const { return train_.accuracies; }
  const std::vector<StepValue>& held_out_loss() const { return held_out_.losses; }
  const std::vector<StepValue>& held_out_accuracy() const { return held_out_.accuracies; }

  // Of ranks with parameters of their own: how far they are from their mean, sqrt(1/n sum_i |x_i -
  // mean|^2), at the steps at which it was measured and every rank has said its part. Grows at the
  // end only.
  const std::vector<StepValue>& consensus_distance() const { return consensus_; }
  // From each of these to the next, step by step: what would have been left of it at most, if
  // nobody had taken a step of its own since. Every step leaves |lambda_2| of the mixing matrix or
  // less, which the header says; empty where it does not. Where one is measured there is what is
  // left of that before it, and then its own value. Of a long way the first kDecaySteps steps and
  // the last, at seconds that go on evenly.
  const std::vector<StepValue>& consensus_decay() const { return consensus_decay_; }

  // Of runs with servers whose header says which of them is the first, how stale the gradients were
  // that it took, over time; or those of stages that update after every micro-batch.
  const std::vector<StepValue>& staleness_mean() const { return staleness_.mean(); }
  const std::vector<StepValue>& staleness_p95() const { return staleness_.p95(); }
  const std::vector<StepValue>& staleness_most() const { return staleness_.most(); }

  static constexpr std::size_t kept_ops = 200'000;
  static constexpr std::int32_t kDecaySteps = 100;

 private:
  struct Sum {
    double total = 0;
    int reports = 0;
    void add(double value) { total += value, ++reports; }
  };
  struct Reports {
    Sum loss, correct, samples;
  };
  // One kind of figure, gathered from all ranks.
  struct Gathering {
    Metric loss, correct, samples;
    int needed = 0;           // reports of a step
    std::int32_t stride = 0;  // of steps that ranks do apart, in any order: from one to the next;
                              // 0: together, in order
    std::map<std::int32_t, Reports> open{};  // steps that some rank has not reported
    std::vector<StepValue> losses{}, accuracies{};
    // Of steps that are done apart: whole, but one before it is not.
    struct Whole {
      double seconds = 0;
      Reports reports;
    };
    std::map<std::int32_t, Whole> ahead{};
    std::int32_t next = 0;
    double told_seconds = 0;

    void take(const Event& event, Metric metric, double seconds);
    void finish(std::int32_t step, double seconds);
    void tell_ahead(std::size_t kept);
    void tell(std::int32_t step, double seconds, const Reports& all);
  };
  static constexpr std::size_t kept_ahead =
      256;  // steps: one that is still missing then has lost a report

  base::Result<void> take_header(const base::Json& json);
  void take_reports(const base::Json& header);
  base::Result<void> take_events(const Frame& frame);
  base::Result<void> take_values(const Frame& frame);
  void take_state(const base::Json& json);
  void take_log(int rank, const base::Json& json);
  void take_op(int rank, const Event& event);
  void take_metric(int rank, const Event& event);
  void look_for_bad_gradients(int rank, const Event& event, Metric metric);
  void take_disagreement(const Event& event, double seconds);
  void decay_to_last(double shrinks);
  double seconds_at(std::int64_t time_ns);

  base::SharedJson header_, state_, result_;
  std::string damage_;
  int ranks_ = 0;
  std::optional<std::int64_t> first_ns_;
  std::vector<std::string> segments_;
  std::map<SeriesKey, Series> series_;
  std::deque<LogLine> log_;
  std::vector<base::SharedJson> states_;
  std::vector<Fault> faults_;
  std::vector<OpRecord> ops_;
  std::uint64_t forgotten_ops_ = 0;
  std::map<int, std::string> plans_;
  std::map<ChunkValuesKey, ChunkValues> chunk_values_;
  // Where a norm was not finite, in the order in which gradients are made: step, own or summed,
  // rank, segment from the last.
  std::optional<std::tuple<std::int32_t, bool, int, int>> bad_gradients_;
  std::int64_t skipped_updates_ = 0;
  std::map<std::int32_t, Sum> disagreements_;  // by step, of those that some rank has not reported
  std::vector<StepValue> consensus_, consensus_decay_;
  int first_server_ = -1;  // that the header names
  StalenessBlocks staleness_;
  Gathering train_{Metric::loss_sum, Metric::correct, Metric::samples};
  Gathering held_out_{Metric::held_out_loss_sum, Metric::held_out_correct,
                      Metric::held_out_samples};
};

}  // namespace trainyard::telemetry
