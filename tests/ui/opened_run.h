// SPDX-License-Identifier: GPL-3.0-or-later
// The window, and recorded runs of examples.
#pragma once

#include <QTest>
#include <optional>

#include "core/experiment/resolve.h"
#include "tests/ui/answered_window.h"
#include "tests/ui/charts/synthetic_run.h"

namespace trainyard::ui::test {

class OpenedRun : public AnsweredWindow {
 protected:
  // Records a run of an example. MNIST needs no data file.
  QString run_of(const char* name) { return run_of(name, false); }
  // Creates a live run, which continues until end_live. Only one may exist.
  QString live_run_of(const char* name) { return run_of(name, true); }
  QString run_of(const char* name, bool live) {
    const auto given = *experiment::load(example(name).toStdString());
    const base::Json data{{"sample_shape", {28, 28}},
                          {"classes", 10},
                          {"train_samples", 8000},
                          {"held_out_samples", 2000}};
    const auto resolved = experiment::resolved_from_json(
        {{"document", experiment::to_json(experiment::located(given, kExamples.toStdString()))},
         {"data", data}});
    const QString directory =
        directory_.filePath("runs/2026-01-01_00-00-00_" + QString(name).left(30));
    const test::SyntheticRun synthetic{.experiment = experiment::to_json(*resolved)};
    if (live) {
      live_run_.emplace(synthetic.create(directory.toStdString()));
      EXPECT_TRUE(train_on(0, 20) && give_coordinator(directory));
    } else {
      synthetic.record(directory.toStdString(), 20);
    }
    EXPECT_TRUE(experiment::save(given, (directory + "/experiment.json").toStdString()));
    return directory;
  }
  bool train_on(int begin, int end) {
    return static_cast<bool>(test::SyntheticRun{}.append(*live_run_, begin, end));
  }
  bool end_live(const char* status, const base::Json& more = base::Json::object()) {
    base::Json result{{"type", "result"}, {"status", status}, {"steps", 20}};
    result.update(more);
    return live_run_->append_json(telemetry::FrameType::result, -1, result) && live_run_->close();
  }
  bool open_whole(const QString& directory) {
    return window_->open(directory) && QTest::qWaitFor([&] {
             return window_->runs().current()->directory() == directory &&
                    window_->runs().current()->complete() && !window_->panels().charts.reading();
           });
  }
  bool open_live(const QString& directory) {
    return window_->open(directory) && QTest::qWaitFor([&] {
             return window_->runs().live() && window_->runs().current()->history().ranks() > 0;
           });
  }
  std::size_t losses() {  // number of points of the shown run on the loss chart
    const PlotSeries* line = window_->panels().charts.plot(ChartKind::loss).model().find("1/train");
    return line ? line->points.size() : 0;
  }
  void wait_for_poll() { QTest::qWait(500); }  // the window polls the run a few times per second
  const experiment::Experiment& document() { return window_->document().experiment(); }
  experiment::Experiment mnist_ =
      *experiment::load(example("four_devices_mirrored_mnist.json").toStdString());
  std::optional<telemetry::RecordingWriter> live_run_;
};

}  // namespace trainyard::ui::test
