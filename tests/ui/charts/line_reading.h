// SPDX-License-Identifier: GPL-3.0-or-later
// Lines of charts, read from the history of a run like charts read them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/ui/charts/synthetic_run.h"
#include "ui/charts/run_lines.h"

namespace trainyard::ui {

inline telemetry::History history_of(const test::SyntheticRun& run, int steps) {
  QTemporaryDir directory;
  run.record(directory.path().toStdString(), steps);
  return *telemetry::History::load(directory.path().toStdString());
}

// Reads one line incrementally.
class LineReading {
 public:
  explicit LineReading(const LineSpec& spec, int step_time_of = LineChoice::kMean)
      : split_(step_time_of), reader_(spec) {}
  // Returns whether there is more to read. `over`: the history is complete.
  bool read(const telemetry::History& history, bool over = false) {
    bool more = progress_.read(history, over);
    more = split_.read(history) || more;
    return reader_.read(history, progress_, split_, points_) || more;
  }
  const std::vector<SeriesPoint>& points() const { return points_; }

 private:
  ProgressCounter progress_;
  StepSplit split_;
  LineReader reader_;
  std::vector<SeriesPoint> points_;
};

inline std::vector<SeriesPoint> points_of(const telemetry::History& history, const LineSpec& spec,
                                          int step_time_of = LineChoice::kMean) {
  LineReading reading(spec, step_time_of);
  while (reading.read(history, true)) continue;
  return reading.points();
}

inline const LineSpec& line(const std::vector<LineSpec>& lines, const QString& id) {
  const auto at = std::ranges::find(lines, id, &LineSpec::id);
  EXPECT_NE(at, lines.end()) << id.toStdString();
  return *at;
}

}  // namespace trainyard::ui
