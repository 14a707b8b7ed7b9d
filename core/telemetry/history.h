// SPDX-License-Identifier: GPL-3.0-or-later
// Recording in memory, by columns, for charts, summaries and exports. It contains the metrics of
// every rank, log lines, states and the result. Frames are added one by one, from a live run or
// from a file. The memory of a series may be limited: its older values are then thinned.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/telemetry/chunk_values.h"
#include "core/telemetry/recorded_documents.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/series_block.h"
#include "core/telemetry/staleness_blocks.h"
#include "core/telemetry/step_statistics.h"
#include "core/telemetry/step_value.h"

namespace trainyard::telemetry {

struct SeriesKey {
  Metric metric{};
  int rank = 0;
  int index = 0;  // Segment or peer; 0 if the metric has none.
  bool operator<(const SeriesKey& other) const {
    return std::tie(metric, rank, index) < std::tie(other.metric, other.rank, other.index);
  }
  bool operator==(const SeriesKey&) const = default;
};

// Logged values of one metric, in order of arrival. Older values may be thinned, in memory or in
// the recording: of neighboring values, only the first, the least, the greatest and the last are
// left.
struct Series {
  std::vector<std::int32_t> steps;
  std::vector<double>
      seconds;  // Seconds since the first entry with a time (an event, a log line or a state).
  std::vector<double> values;
  // Numbers of the values, counted from the first one of the series. Increases by more than one
  // where values were removed.
  std::vector<std::uint32_t> numbers;
  SeriesTotals totals;              // Exact, over all values, also those that were removed.
  std::uint32_t number_added = 0;   // Number of values that were added, also if they were removed.
  std::int32_t thinned_until = -1;  // Last step up to which values are thinned; -1: none.

  void add(std::int32_t step, double seconds_at_step, double value);
  // Thins the older half of the values, to about half as many.
  void thin_older_half();

  // For ReadPosition.
  std::size_t size() const { return values.size(); }
  std::uint32_t number_at(std::size_t index) const { return numbers[index]; }
  std::uint64_t removed() const { return number_added - values.size(); }
};

struct LogLine {
  int rank = -1;
  double seconds = 0;
  std::string level, text;
};

// Executed op. Its times count from the same origin as the times of a Series.
struct OpRecord {
  int rank = 0, step = 0, program = 0, op = 0;
  double begin = 0, ready = 0, end = 0;
  double bytes = 0;
  double imposed = 0;  // Seconds before the end spent waiting to make the op slower.
};

// First gradient with non-finite elements, and the number of updates that were skipped.
struct BadGradients {
  // Step of that gradient. If a rank's local gradient is not finite, it is reported; otherwise the
  // sum over all ranks is reported.
  std::int64_t step = 0;
  int rank = 0;
  std::string segment;
  std::int64_t skipped_updates = 0;
  bool operator==(const BadGradients&) const = default;
};

class History {
 public:
  // `kept_values`: number of values of a series that are kept completely; the number in memory is
  // at most twice as large. 0: all values are kept.
  explicit History(std::size_t kept_values);
  History() : History(0) {}

  // Adds a frame. Returns a Problem if the frame is malformed; of a malformed events frame, the
  // events before the invalid event are kept; any other malformed frame changes nothing. Ignores
  // unknown frame types and metrics. A JSON frame with some invalid values is taken without them;
  // so is an events frame with events of impossible steps. `damage()` then describes the first of
  // these values.
  base::Result<void> take(const Frame& frame);
  // Ends the history: publishes values of steps that wait for earlier steps. A result frame does
  // the same.
  void conclude();

  // Reads all complete frames of the recording in `run_directory`. Skips malformed frames after the
  // header; a frame whose checksum does not match ends the history. `damage()` reports both, and an
  // incomplete end. Returns a Problem if there is no recording.
  static base::Result<History> load(const std::filesystem::path& run_directory);

  // JSON of frames, for printing and for `base::value_at`. Values may be absent or of any type.
  const base::Json& header() const { return *header_; }
  const base::Json& state() const { return *state_; }    // The last state frame.
  const base::Json& result() const { return *result_; }  // Null until the run has ended.
  // Checked values of the same frames.
  const RecordedHeader& recorded_header() const { return recorded_header_; }
  const std::vector<RecordedState>& recorded_states() const { return recorded_states_; }
  // Unset until the run has ended.
  const std::optional<RecordedResult>& recorded_result() const { return recorded_result_; }
  // Message about damage for the user; "" if there is none.
  const std::string& damage() const { return damage_; }
  int ranks() const { return ranks_; }
  int reports_of_step() const {
    return train_.needed;
  }  // Number of ranks that report a step: all, or one for asynchronous workers.
  bool steps_apart() const {
    return train_.stride > 0 && train_.needed == 1;
  }  // True if each step is executed by one rank only. Steps may then complete out of order.
  const std::vector<std::string>& segments() const { return recorded_header_.segments; }
  const std::map<SeriesKey, Series>& series() const { return series_; }
  const Series* find(const SeriesKey& key) const;  // Null if nothing was logged.
  // A deque, so that references to lines stay valid.
  const std::deque<LogLine>& log() const { return log_; }
  std::optional<BadGradients> bad_gradients() const;
  // Thinning of the recording; `from_step` is negative if the recording is complete.
  const RecordedThinning& thinning() const { return thinning_; }
  // Last step of which values or ops may be missing here, because the recording or the series in
  // memory were thinned. Later steps are complete. -1: none.
  std::int32_t thinned_until() const { return thinned_until_; }
  // Last step of which the recording lacks ops and times, because it was thinned; -1: none.
  std::int32_t recording_thinned_until() const { return recording_thinned_until_; }
  const StepStatistics& step_statistics() const { return step_statistics_; }
  // Number of samples of a worker's gradients that a server reported by `metric`
  // (dropped_gradients or unapplied_gradients).
  double samples_of_gradients(Metric metric, int worker) const;
  // Number of values of a series of Metric::staleness, by value.
  const std::map<std::int64_t, std::int64_t>& staleness_counts(const SeriesKey& key) const;
  const std::vector<base::SharedJson>& states() const { return states_; }
  const std::vector<Fault>& faults() const { return faults_; }
  const std::string& plan_text(int rank) const;  // "" if not recorded.

  // Sampled chunk values of a few steps. Entries are only added.
  const std::map<ChunkValuesKey, ChunkValues>& chunk_values() const { return chunk_values_; }

  // The last ops, at least `kept_ops`, in order of arrival. Older ops are removed in blocks of a
  // quarter of `kept_ops` and counted by `evicted_ops`, so ops()[i] is op number evicted_ops() + i
  // of the recording.
  const std::vector<OpRecord>& ops() const { return ops_; }
  std::uint64_t evicted_ops() const { return evicted_ops_; }

  // Train loss, train accuracy, held-out loss and held-out accuracy, weighted by samples over all
  // ranks, in order of steps. A step has a value once all ranks involved have reported it; a rank
  // reports its loss sum, its number of correct samples, and last its number of samples. A step
  // with a lost report has no value. Views keep a ReadPosition.
  const StepValues& train_loss() const { return train_.losses; }
  const StepValues& train_accuracy() const { return train_.accuracies; }
  // Samples that all ranks have trained up to each complete step, in order of steps. With servers,
  // only samples of applied gradients count, if the header says so.
  const StepValues& trained_samples() const { return train_.trained; }
  // First step whose training loss over all ranks is not finite.
  std::optional<std::int64_t> diverged_step() const { return train_.diverged_step; }
  const StepValues& held_out_loss() const { return held_out_.losses; }
  const StepValues& held_out_accuracy() const { return held_out_.accuracies; }

  // Consensus distance of ranks with local parameters: sqrt(1/n sum_i |x_i - mean|^2), at the steps
  // at which every rank reported it.
  const StepValues& consensus_distance() const { return consensus_; }
  // Upper bound of the consensus distance between two measured values, if no rank had made a local
  // step in between: every step multiplies it at most by |lambda_2| of the mixing matrix. Empty if
  // the header has no lambda_2. At a measured step the list has both the bound and the new measured
  // value. If measurements are far apart, the list has only the first kDecaySteps steps and the
  // last one. Seconds are interpolated evenly.
  const StepValues& consensus_decay() const { return consensus_decay_; }

  // Staleness over time. In a run with servers, it is measured on the gradients that the first
  // server applied (if the header names this server). In other runs, it is measured on stages that
  // update after every micro-batch.
  const StepValues& staleness_mean() const { return staleness_.mean(); }
  const StepValues& staleness_p95() const { return staleness_.p95(); }
  const StepValues& staleness_max() const { return staleness_.most(); }

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
    void add(const Reports& other);
  };
  // Reports of one step, by rank, if a server decides which of them count.
  struct Candidates {
    std::map<int, Reports> of_rank;
    std::set<int> applied;  // ranks whose gradient the server applied
    Reports counted() const;
  };
  // Collects the reports of all ranks on one kind of sample (training or held-out).
  struct Gathering {
    Metric loss, correct, samples;
    int needed = 0;  // Number of reports per step.
    // If each step is executed by a single rank, in any order: difference between the numbers of
    // consecutive steps. 0 if all ranks execute each step together, in order.
    std::int32_t stride = 0;
    // True if only ranks whose gradients the first server applied to the step count.
    bool only_applied = false;
    std::map<std::int32_t, Reports> open{};  // Steps that at least one rank has not reported yet.
    std::map<std::int32_t, Candidates> candidates{};  // Used instead if `only_applied`.
    StepValues losses{}, accuracies{};
    StepValues trained{};                         // At each step, the sum of all samples so far.
    std::optional<std::int64_t> diverged_step{};  // First step whose loss is not finite.
    // Step that one rank executed and completely reported, while an earlier step is incomplete.
    struct Whole {
      double seconds = 0;
      Reports reports;
    };
    std::map<std::int32_t, Whole> ahead{};
    std::int32_t next = 0;
    double published_seconds = 0;

    void take(int rank, const Event& event, Metric metric, double seconds);
    void take_candidate(int rank, const Event& event, Metric metric, double seconds);
    void finish(std::int32_t step, double seconds);
    void publish_ready(std::size_t kept);
    void tell(std::int32_t step, double seconds, const Reports& all);
  };
  // Maximum number of complete steps that wait for a missing one. If there are more, the missing
  // report counts as lost.
  static constexpr std::size_t kept_ahead = 256;

  base::Result<void> take_header(const base::Json& json);
  void take_reports();
  base::Result<void> take_events(const Frame& frame);
  base::Result<void> take_blocks(const Frame& frame);
  base::Result<void> take_values(const Frame& frame);
  void take_thinning(const base::Json& json);
  void take_state(const base::Json& json);
  void take_result(base::Json json);
  void take_log(int rank, const base::Json& json);
  void note_invalid_values(const char* frame, const base::Problems& problems);
  void note_damage(std::string text);
  bool is_possible(const Event& event);
  void take_op(int rank, const Event& event);
  void take_metric(int rank, const Event& event);
  void limit(Series& series);
  void note_thinned(std::int32_t step);
  void take_gradient(Metric metric, int worker, std::int32_t step);
  void take_samples(int rank, const Event& event);
  void check_gradient_norm(int rank, const Event& event, Metric metric);
  void take_disagreement(const Event& event, double seconds);
  void decay_to_last(double shrinks);
  double seconds_at(std::int64_t time_ns);

  std::size_t kept_values_ = 0;
  base::SharedJson header_, state_, result_;
  std::string damage_;
  int ranks_ = 0;
  std::optional<std::int64_t> first_ns_;
  RecordedHeader recorded_header_;
  std::vector<RecordedState> recorded_states_;
  std::optional<RecordedResult> recorded_result_;
  std::map<SeriesKey, Series> series_;
  RecordedThinning thinning_;
  std::int32_t thinned_until_ = -1, recording_thinned_until_ = -1;
  StepStatistics step_statistics_;
  std::map<SeriesKey, std::map<std::int64_t, std::int64_t>> staleness_counts_;
  // Samples of gradients that had no effect, by metric and worker, and the gradients whose worker
  // has not reported its samples yet, by worker and step.
  std::map<std::pair<Metric, int>, double> samples_of_gradients_;
  std::map<std::pair<int, std::int32_t>, Metric> gradients_without_samples_;
  std::deque<LogLine> log_;
  std::vector<base::SharedJson> states_;
  std::vector<Fault> faults_;
  std::vector<OpRecord> ops_;
  std::uint64_t evicted_ops_ = 0;
  std::map<int, std::string> plans_;
  std::map<ChunkValuesKey, ChunkValues> chunk_values_;
  // First gradient norm that is not finite. The tuple is ordered as gradients are computed: (step,
  // summed over ranks, rank, segment from the last), where local gradients come before summed ones.
  std::optional<std::tuple<std::int32_t, bool, int, int>> bad_gradients_;
  std::int64_t skipped_updates_ = 0;
  // Sums for the consensus distance that still lack the report of at least one rank, by step.
  std::map<std::int32_t, Sum> open_consensus_sums_;
  StepValues consensus_, consensus_decay_;
  int first_server_ = -1;  // Rank of the first server, from the header; -1 if there is none.
  StalenessBlocks staleness_;
  Gathering train_{Metric::loss_sum, Metric::correct, Metric::samples};
  Gathering held_out_{Metric::held_out_loss_sum, Metric::held_out_correct,
                      Metric::held_out_samples};
};

}  // namespace trainyard::telemetry
