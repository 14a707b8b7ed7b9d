// SPDX-License-Identifier: GPL-3.0-or-later
// Which lines each live chart has, and how each is made from a run's history. Pure: a history in,
// points out.
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
#include "ui/model/series_derived.h"
#include "ui/model/simulated_time.h"

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
// In the order of the cards, until a person arranges them.
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
  const char* name;  // snake_case, stable: for saved arrangements
  QString title, unit;
  QString help;  // what a value is, in a sentence
};
ChartTitle chart_title(ChartKind kind);
// Whether the chart is of something that few runs do: then it is there only with one that does.
constexpr bool is_special(ChartKind kind) { return kind >= ChartKind::residual_norm; }

// Those that have something to learn; all of them as long as none has told.
std::vector<int> segments_with_gradients(const telemetry::History& history);
QString segment_name(const telemetry::History& history, int segment);

// Whether the staleness of gradients is told by stages, each of its own; else by servers, of
// workers.
bool stages_tell(const telemetry::History& history);
QString whose_gradients(const telemetry::History& history, int rank);  // "worker, rank 3"

// Whether its bytes are known to grow.
bool sends(const telemetry::History& history);

// What a person chose to see of runs.
struct LineChoice {
  int segment =
      0;  // -1: all of them, reduced only; one without a gradient stands for the first that has one
  static constexpr int kMean = -1, kSlowest = -2;
  int step_time_of = kMean;  // or a rank
  static constexpr int kFullest = -1;
  int buffers_of = kFullest;  // the rank whose buffers take most by the plan, or a rank
  bool operator==(const LineChoice&) const = default;
};

// Metric series of a history, put together: each value, or the growth of each total by the time
// that its rank spent within steps; over the sources at each step.
struct Source {
  std::vector<telemetry::SeriesKey> keys;
  Over over = Over::sum;
  bool rate = false;
  std::vector<Source> parts{};                                  // instead of keys
  bool empty() const { return keys.empty() && parts.empty(); }  // there is no such source
  bool operator==(const Source&) const = default;
};

// The time of a step, in parts whose sum it is. Overhead: what the loop of a rank takes besides.
// Imposed is none of them, but a part of compute: held back, because the rank is slowed down or
// paced.
enum class StepPart { compute, wait, transfer, input, overhead, imposed };
inline constexpr std::size_t kStepParts = 5;

using StepValues = const std::vector<telemetry::StepValue>& (telemetry::History::*)() const;

struct LineSpec {
  QString id;  // within its run
  SeriesStyle style;
  Source source;
  Source divisor;                  // when it has keys: the line is source / divisor
  StepValues gathered = nullptr;   // instead of a source: values that the history has put together
  std::optional<StepPart> part{};  // instead of a source: of the time of a step
  std::optional<double>
      level{};                // in the place of each value: what does not change from step to step
  bool of_all_ranks = false;  // the line ends where one was lost
};

// Of charts that do not keep up with a run that is at `step`; empty where they do.
QStringList told_behind(std::int64_t step, std::int64_t charted);

// Legends are narrow: of names that begin with the same words, what comes after these; of each at
// least its last word.
QStringList what_tells_apart(const QStringList& names);

// `run`: how the run is told apart from others on the same charts; nothing when it is alone, and
// ranks are shown one by one.
struct RunLook {
  QString name;
  int colour = 0;
};
std::vector<LineSpec> lines_of(ChartKind kind, const telemetry::History& history,
                               const std::optional<RunLook>& run, const LineChoice& choice);

// All reading of a history is by portions, of so many values of each series at most, for it may be
// long. What reads a portion says whether there is more to read.
inline constexpr std::size_t kValuesAtOnce = 64;

// What all ranks have trained on and sent, payload alone; and by when they would have, at the drawn
// speeds, where that is known.
struct Progress {
  double samples = 0, bytes = 0;
  double simulated = std::numeric_limits<double>::quiet_NaN();
  double passes = 0;  // over the training samples

  void put_into(SeriesPoint& point) const;
};

// How far all ranks were by a step, for the x axis; from what they reported.
class ProgressCounter {
 public:
  bool read(const telemetry::History& history, bool over);  // over: no more will come
  // While simulated time is wanted, no step is known before it is there.
  void want_simulated(bool wanted) { wants_simulated_ = wanted; }
  void set_simulated(SimulatedTime time) { simulated_ = std::move(time); }
  bool lacks_simulated() const { return wants_simulated_ && !simulated_; }
  // Whether all ranks have reported the step, or never will.
  bool knows(double step) const {
    return !lacks_simulated() && (over_ || (!steps_.empty() && step <= steps_.back()));
  }
  Progress at(double step) const;

 private:
  struct Sent {  // by a rank, to a peer
    telemetry::SeriesKey key;
    std::size_t next = 0;
    double bytes = 0;
  };
  void look_for_senders(const telemetry::History& history);
  double sent_by(const telemetry::History& history, double step);

  bool read_updates(const telemetry::History& history, bool over);
  void add(const telemetry::History& history, const SeriesPoint& step);

  std::map<int, std::size_t> read_;  // by rank
  std::optional<StepGather> gather_;
  StepOrder apart_;  // instead, where ranks do steps apart
  std::vector<Sent> sent_;
  std::size_t known_series_ = 0;
  std::vector<double> steps_;
  std::vector<Progress> progress_;  // by the step beside it
  bool wants_simulated_ = false;
  std::optional<SimulatedTime> simulated_;
  bool over_ = false;
};

// The time that a rank has spent within steps: no pace, no pause and no measuring between them is
// in it.
class StepClock {
 public:
  // To the end of `step`; steps never fall. Whether the time of every step since the last one is
  // known.
  bool advance(const telemetry::History& history, int rank, int step);
  double seconds() const { return seconds_; }

 private:
  std::size_t read_ = 0;
  int step_ = -1;
  double seconds_ = 0;
};

// Points of a source, as they become known.
class SourceReader {
 public:
  explicit SourceReader(const Source& source);
  bool read(const telemetry::History& history, std::vector<SeriesPoint>& out);

 private:
  struct Cursor {
    telemetry::SeriesKey key;
    std::size_t next = 0;
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

// The time of each step in its parts, of steps whose every part every rank that is asked about has
// reported. Read once for all lines.
class StepSplit {
 public:
  explicit StepSplit(int of) : of_(of) {}  // as LineChoice::step_time_of
  bool read(const telemetry::History& history);
  const std::vector<telemetry::StepValue>& values(StepPart part) const {
    return values_[static_cast<std::size_t>(part)];
  }

 private:
  using Parts = std::array<double, kStepParts + 1>;  // as StepPart
  struct Cursor {                                    // of a rank
    std::size_t whole = 0;
    std::array<std::size_t, kStepParts - 1> parts{};  // without overhead, which is the rest
    std::size_t imposed = 0;
  };
  struct Open {  // a step that some rank has not reported yet
    double seconds = 0, longest = -1;
    Parts parts{};
    int reports = 0;
    bool whole = false;
  };
  bool read_rank(const telemetry::History& history, int rank, int ranks);
  void tell(std::map<std::int32_t, Open>::const_iterator step);
  void tell_in_order();
  void add(const telemetry::StepValue& whole, const Parts& parts, int ranks);

  int of_;
  bool apart_ = false;             // steps are told in their order, though ranks do not end them so
  std::int32_t next_ = 0;          // then: after the one told last
  std::map<int, Cursor> cursors_;  // by rank
  std::map<std::int32_t, Open> open_;  // by step
  std::array<std::vector<telemetry::StepValue>, kStepParts + 1> values_;
};

class LineReader {
 public:
  explicit LineReader(const LineSpec& spec);
  // Whether lines of that kind have the same points, whatever they look like.
  bool reads_as(const LineSpec& spec) const;
  // Appends the next points, of steps whose progress is known. `progress` and `split` were read
  // before it.
  bool read(const telemetry::History& history, const ProgressCounter& progress,
            const StepSplit& split, std::vector<SeriesPoint>& out);

 private:
  bool read_values(const std::vector<telemetry::StepValue>& values, std::vector<SeriesPoint>& out);
  bool divide(const telemetry::History& history, std::vector<SeriesPoint>& points);

  LineSpec spec_;
  SourceReader source_, divisor_;
  std::size_t next_value_ = 0;
  std::deque<SeriesPoint> dividends_, divisors_;  // not yet matched, by step
  std::deque<SeriesPoint> held_back_;  // it is not known yet where they stand in samples and bytes
};

}  // namespace trainyard::ui
