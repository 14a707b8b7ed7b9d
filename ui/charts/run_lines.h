// SPDX-License-Identifier: GPL-3.0-or-later
// Selection of the lines of each live chart, and the rules by which their points are computed from
// a run's history. Pure: a history is the input, and points are the output.
#pragma once

#include <QString>
#include <array>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "core/telemetry/history.h"
#include "ui/charts/plot_model.h"
#include "ui/model/plan/simulated_time.h"
#include "ui/model/series/series_derived.h"

namespace trainyard::ui {

enum class ChartKind {
  loss,
  accuracy,
  gradient_norm,
  update_ratio,
  rank_bytes,
  link_bytes,
  step_time,
  samples_rate,
  learning_rate,
  memory,
  buffers,
  residual_norm,
  compression_ratio,
  table_ratio,
  loss_scale,
  staleness,
  consensus,
  averages,
  gpu_busy,
  gpu_memory,
  gpu_power,
  gpu_traffic
};
// Default order of the chart cards.
inline constexpr ChartKind kChartKinds[] = {ChartKind::loss,          ChartKind::accuracy,
                                            ChartKind::staleness,     ChartKind::consensus,
                                            ChartKind::gradient_norm, ChartKind::step_time,
                                            ChartKind::rank_bytes,    ChartKind::link_bytes,
                                            ChartKind::table_ratio,   ChartKind::compression_ratio,
                                            ChartKind::update_ratio,  ChartKind::samples_rate,
                                            ChartKind::learning_rate, ChartKind::memory,
                                            ChartKind::buffers,       ChartKind::residual_norm,
                                            ChartKind::loss_scale,    ChartKind::averages,
                                            ChartKind::gpu_busy,      ChartKind::gpu_memory,
                                            ChartKind::gpu_traffic,   ChartKind::gpu_power};

struct ChartTitle {
  const char* name;  // stable name in snake_case, used in saved arrangements
  QString title, unit;
  QString help;  // meaning of a value, in one sentence
};
ChartTitle chart_title(ChartKind kind);
// True if only few runs have the data of this chart. The chart is shown only if such a run is
// shown.
constexpr bool is_special(ChartKind kind) { return kind >= ChartKind::residual_norm; }

// Returns the segments with gradients, or all segments until a gradient is reported.
std::vector<int> segments_with_gradients(const telemetry::History& history);
QString segment_name(const telemetry::History& history, int segment);

// True if each stage reports the staleness of its own gradients. False if servers report the
// staleness of the workers' gradients.
bool stages_report_staleness(const telemetry::History& history);
QString gradient_owner_text(const telemetry::History& history, int rank);  // "worker, rank 3"

// True if the history contains counters of sent bytes.
bool sends(const telemetry::History& history);

// Selection of the data in the charts.
struct LineChoice {
  // Index of the segment whose gradients are shown. -1: all segments, reduced gradients only. If
  // the segment has no gradient, the first segment with a gradient is shown.
  int segment = 0;
  static constexpr int kMean = -1, kSlowest = -2;
  int step_time_of = kMean;  // kMean or a rank
  static constexpr int kFullest = -1;
  int buffers_of = kFullest;  // kFullest (the rank with the largest planned buffers) or a rank
  bool operator==(const LineChoice&) const = default;
};

// Source of the values of a line: metric series of a history, which are combined into one line by
// the rule `over`. If `rate` is true, the metrics are running totals, and the line shows their
// growth per second that the rank spent within steps.
struct Source {
  std::vector<telemetry::SeriesKey> keys;
  Over over = Over::sum;
  bool rate = false;
  // Sources whose values are combined, instead of the metric series in `keys`.
  std::vector<Source> parts{};
  std::vector<double> factors{};  // factors of the values of `keys`; empty: all 1
  bool empty() const { return keys.empty() && parts.empty(); }  // true if there is no source
  bool operator==(const Source&) const = default;
};

// Parts of the time of a step, which add up to that time. `overhead` is the time of the rank's
// training loop that belongs to no other part. `imposed` does not count in the sum: it is the part
// of `compute` in which the rank is held back because it is slowed down or paced.
enum class StepPart { compute, wait, transfer, input, overhead, imposed };
inline constexpr std::size_t kStepParts = 5;

using StepValues = const telemetry::StepValues& (telemetry::History::*)() const;

struct LineSpec {
  QString id;  // unique within its run
  SeriesStyle style;
  Source source;
  Source divisor;                  // if it has keys, the line shows `source` divided by `divisor`
  StepValues gathered = nullptr;   // used instead of `source`: values computed by the history
  std::optional<StepPart> part{};  // used instead of `source`: a part of the step's time
  std::optional<double> level{};   // constant that replaces each value
  bool of_all_ranks =
      false;  // true if the line needs all ranks, so that it ends where a rank was lost
};

// Returns the message if charts lag behind a run that is at `step`; empty if they do not.
QStringList lag_message(std::int64_t step, std::int64_t charted);

// Shortens names for narrow legends. Removes the words at the beginning that all names have in
// common, but keeps at least the last word of each name.
QStringList distinct_suffixes(const QStringList& names);

// Name and color that distinguish a run from other runs on the same charts. If a run has no
// RunStyle, no other run is shown, and its ranks have separate lines.
struct RunStyle {
  QString name;
  int color = 0;
};
std::vector<LineSpec> lines_of(ChartKind kind, const telemetry::History& history,
                               const std::optional<RunStyle>& run, const LineChoice& choice);

// Maximum number of values per series that a reader reads at once, because histories may be long.
// Readers return true if there is more to read.
inline constexpr std::size_t kValuesAtOnce = 64;

// Progress of a run at a step: samples trained and payload bytes sent by all ranks, and the
// simulated time at the drawn speeds, if it is known.
struct Progress {
  double samples = 0, bytes = 0;
  double simulated = std::numeric_limits<double>::quiet_NaN();
  double passes = 0;  // number of samples divided by the number of training samples

  void put_into(SeriesPoint& point) const;
};

// Computes the progress of all ranks at each step from the ranks' reports. It is used for the x
// axis.
class ProgressCounter {
 public:
  // Reads new reports. `over`: true if the run has ended, so that the history will not grow.
  bool read(const telemetry::History& history, bool over);
  // Includes simulated time in progress. Until the simulation is finished, progress is unknown.
  void request_simulation(bool wanted) { wants_simulated_ = wanted; }
  void set_simulated(SimulatedTime time) { simulated_ = std::move(time); }
  bool lacks_simulated() const { return wants_simulated_ && !simulated_; }
  // True if the progress at this step is final: every rank has reported the step, or the missing
  // ranks will never report it.
  bool knows(double step) const {
    return !lacks_simulated() && (over_ || (!steps_.empty() && step <= steps_.back()));
  }
  Progress at(double step) const;

 private:
  struct Sent {  // bytes sent by a rank to a peer
    telemetry::SeriesKey key;
    telemetry::ReadPosition next{};
    double bytes = 0, step = -1;
  };
  struct Totals {
    double samples = 0, bytes = 0;
  };
  void find_senders(const telemetry::History& history);
  double sent_by(const telemetry::History& history, double step);

  telemetry::ReadPosition read_;
  std::vector<Sent> sent_;
  std::size_t known_series_ = 0;
  std::vector<double> steps_;
  std::vector<Totals> totals_;  // by index of steps_
  double samples_per_epoch_ = std::numeric_limits<double>::quiet_NaN();
  std::int32_t thinned_until_ = -1;  // step
  bool wants_simulated_ = false;
  std::optional<SimulatedTime> simulated_;
  bool over_ = false;
};

// Time that a rank has spent within steps; excludes pacing, pauses and evaluation between steps.
class StepClock {
 public:
  // Advances to the end of `step`, which must not decrease from call to call. Returns true if the
  // time of every step since the last call is known.
  bool advance(const telemetry::History& history, int rank, int step);
  double seconds() const { return seconds_; }

 private:
  telemetry::ReadPosition read_;
  int step_ = -1;
  double seconds_ = 0;
};

// Reads the points of a source, each as soon as its value is known.
class SourceReader {
 public:
  explicit SourceReader(const Source& source);
  bool read(const telemetry::History& history, std::vector<SeriesPoint>& out);

 private:
  struct Cursor {
    telemetry::SeriesKey key;
    double factor = 1;
    telemetry::ReadPosition next{};
    RateMeter meter;
    StepClock clock;
  };
  static std::optional<double> rate(const telemetry::History& history, Cursor& cursor, int step,
                                    double total);
  void gather(const SeriesPoint& point, std::vector<SeriesPoint>& out);
  bool rate_;
  std::vector<Cursor> cursors_;
  std::vector<SourceReader> parts_;
  StepGather gather_;
};

// Parts of the time of each step. Contains only steps for which all selected ranks have reported
// all parts. All lines share one object, so that the history is read once.
class StepSplit {
 public:
  explicit StepSplit(int of);  // `of`: see LineChoice::step_time_of
  bool read(const telemetry::History& history);
  const telemetry::StepValues& values(StepPart part) const {
    return values_[static_cast<std::size_t>(part)];
  }
  // Last step up to which steps may be missing, because reports were thinned; -1: none.
  std::int32_t thinned_until() const {
    return std::max(thinned_until_, values_.front().thinned_until());
  }

 private:
  using PartSeconds = std::array<double, kStepParts + 1>;  // indexed by StepPart
  struct Cursor {                                          // read positions of one rank
    telemetry::ReadPosition whole;
    // Read positions in the history of each part of the step time. The overhead has none, because
    // it is computed as the remaining time.
    std::array<telemetry::ReadPosition, kStepParts - 1> parts{};
    telemetry::ReadPosition imposed;
  };
  struct Open {  // a step that some rank has not reported yet
    double seconds = 0, longest = -1;
    PartSeconds parts{};
    int reports = 0;
    bool whole = false;
  };
  bool read_rank(const telemetry::History& history, int rank, int ranks);
  void tell(std::map<std::int32_t, Open>::const_iterator step);
  void tell_in_order();
  void add(const telemetry::StepValue& whole, const PartSeconds& parts, int ranks);

  int of_;
  // True if ranks run steps independently, so that steps may end out of order. They are returned in
  // order.
  bool apart_ = false;
  std::int32_t thinned_until_ = -1;
  std::int32_t next_ = 0;          // used if `apart_` is set: the step after the last returned one
  std::map<int, Cursor> cursors_;  // by rank
  std::map<std::int32_t, Open> open_;  // by step
  std::array<telemetry::StepValues, kStepParts + 1> values_;
};

class LineReader {
 public:
  explicit LineReader(const LineSpec& spec);
  // True if a line with this specification would have the same points as this reader's line, even
  // if its style differs.
  bool reads_as(const LineSpec& spec) const;
  // Appends the next points, as far as the progress at their steps is known. `progress` and `split`
  // must have read the same history before.
  bool read(const telemetry::History& history, const ProgressCounter& progress,
            const StepSplit& split, std::vector<SeriesPoint>& out);

 private:
  bool read_values(const telemetry::StepValues& values, std::vector<SeriesPoint>& out);
  bool divide(const telemetry::History& history, std::vector<SeriesPoint>& points);

  LineSpec spec_;
  SourceReader source_, divisor_;
  telemetry::ReadPosition next_value_;
  // Dividends and divisors of a ratio, for steps at which the other value is not known yet.
  std::deque<SeriesPoint> dividends_, divisors_;
  std::deque<SeriesPoint> held_back_;  // points whose progress (samples, bytes) is not known yet
};

}  // namespace trainyard::ui
