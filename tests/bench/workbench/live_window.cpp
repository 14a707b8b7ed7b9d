// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <algorithm>
#include <ctime>
#include <functional>
#include <optional>

#include "backends/zmq/control.h"
#include "core/base/clock.h"
#include "core/experiment/document.h"
#include "core/telemetry/recording.h"
#include "tests/bench/workbench/figures.h"
#include "tests/bench/workbench/stalls.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/main_window.h"

namespace trainyard::bench {
namespace {

using namespace ui;

constexpr qint64 kPatienceMilliseconds = 60'000;
constexpr qint64 kPaintedMilliseconds = 200;  // charts are drawn 20 times a second
constexpr qint64 kWatchedMilliseconds = 3'000;
constexpr int kRanks = 4, kLongSteps = 20'000;
constexpr auto kExample =
    TRAINYARD_SOURCE_DIR "/resources/experiments/four_devices_mirrored_digits.json";

Setup setup(const QTemporaryDir& directory) {
  for (const char* place : {"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"})
    qputenv(place, directory.path().toUtf8());
  Setup made;
  made.services = {zmq::connect, TRAINYARD_BIN_DIR "/trainyard-cli",
                   directory.filePath("trainyard/runs"),
                   TRAINYARD_SOURCE_DIR "/resources/experiments"};
  made.settings_file = directory.filePath("settings.ini");
  made.recovery = directory.filePath("recovery");
  const QString file = directory.filePath("meanwhile.json");
  made.questions = Questions{[](const QString&) { return SaveAnswer::discard; },
                             [](const QString&) { return LiveRunAnswer::stop; },
                             [file] { return file; },
                             [file](const QString&) { return file; },
                             [](const QString& start) { return start; },
                             [](const QString&, const QString&, const QString&) { return true; }};
  return made;
}

// A run that ended some time ago; its directory.
QString record_long_run(const QTemporaryDir& directory) {
  const QString run = directory.filePath("trainyard/runs/2026-01-01_00-00-00_long");
  const auto given = experiment::load(kExample);
  test::SyntheticRun{.ranks = kRanks, .experiment = {{"document", experiment::to_json(*given)}}}
      .record(run.toStdString(), kLongSteps);
  return run;
}

bool ends_first_step(const telemetry::Event& event) {
  return event.kind == telemetry::EventKind::metric &&
         telemetry::Metric{event.subject} == telemetry::Metric::step_seconds && event.step == 0;
}

// When the last rank had done its first step, by CLOCK_MONOTONIC; nothing where the recording does
// not say so of all.
std::optional<std::int64_t> first_step_ns(const QString& run) {
  auto reader =
      telemetry::RecordingReader::open((run + "/" + telemetry::kRecordingFile).toStdString());
  if (!reader) return {};
  int ranks = 0;
  std::int64_t latest = 0;
  for (auto frame = reader->next(); frame && *frame; frame = reader->next()) {
    if ((*frame)->type != telemetry::FrameType::events) continue;
    const auto events = telemetry::events_of(**frame).value_or(std::vector<telemetry::Event>());
    for (const telemetry::Event& event : events)
      if (ends_first_step(event)) ++ranks, latest = std::max(latest, event.end_ns);
  }
  return ranks == kRanks ? std::optional(latest) : std::nullopt;
}

using Condition = std::function<bool()>;

class Workbench {
 public:
  Workbench() : long_run_(record_long_run(directory_)), window_(setup(directory_)) {}
  ~Workbench() {
    failed_.clear();
    if (window_.runs().live()) stop();
  }

  LiveWindow watch() {
    act("the first layout", painted(), [&] { window_.resize(1600, 1000), window_.show(); });
    train();
    use();
    compare();
    open_long_run();
    return {
        first_step_, stalls_.longest_milliseconds(), stalls_.longest_on_the_wall(), cores_, worst_,
        failed_};
  }

 private:
  void train() {
    act("opening an experiment", painted(), [&] { window_.open(kExample); });
    act("setting the steps", painted(),
        [&] { edit([](experiment::Experiment& e) { e.training.steps = 100'000; }); });
    const std::int64_t pressed = base::now_nanoseconds();
    act("pressing Run", grown(100), [&] { window_.start_run(); });
    watch_them();
    if (!failed_.empty()) return;
    const auto done = first_step_ns(window_.runs().current()->directory());
    if (done) first_step_ = base::seconds(*done - pressed) * 1e3;
    else failed_ = "the recording does not hold the first step of each rank";
  }

  void watch_them() {
    QElapsedTimer wall;
    wall.start();
    const std::clock_t before = std::clock();  // of this process, all its threads
    act(
        "watching",
        [&, more = grown(300)] { return more() && wall.hasExpired(kWatchedMilliseconds); }, [] {});
    cores_ = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC /
             (1e-9 * static_cast<double>(wall.nsecsElapsed()));
  }

  void use() {
    for (const char* name : {"timeline", "plan", "log", "problems", "runs", "charts"})
      act(name, grown(20), [&] { window_.workspace().raise(name); });
    act("an edit", grown(100),
        [&] { edit([](experiment::Experiment& e) { e.training.batch_per_rank = 48; }); });
    act("saving", grown(100), [&] { window_.files().save_as(); });
    act("zooming", grown(100), [&] {
      window_.panels().charts.plot(ChartKind::loss).zoom_at(QPointF(1, 0.5), 0.5, false);
    });
    choose();
  }

  // Lines are read again. Of the run that is alone on the charts.
  void choose() {
    RunCharts& charts = window_.panels().charts;
    const std::size_t steps = points("1/train");  // as many as the others then have
    act("another choice of gradients", painted("1/reduced0", steps, ChartKind::gradient_norm),
        [&] { charts.set_choice({.segment = -1}); });
    act("another choice of step time", painted("1/part0", steps, ChartKind::step_time),
        [&] { charts.set_choice({.segment = -1, .step_time_of = LineChoice::kSlowest}); });
    act("the first choices again", painted("1/part0", steps, ChartKind::step_time),
        [&] { charts.set_choice({}); });
  }

  void compare() {
    RunsPanel& panel = window_.panels().runs;
    const auto listed = [&] {
      return std::ranges::count(panel.entries(), long_run_, &RunEntry::directory) == 1;
    };
    act("listing runs", listed, [&] { panel.refresh(); });
    act("ticking a long run", painted("2/train", kLongSteps),
        [&] { panel.set_ticked(long_run_, true); });
    act("unticking it", painted("1/train", 1), [&] { panel.set_ticked(long_run_, false); });
  }

  void open_long_run() {
    stop();
    act("opening a long run", painted("1/train", kLongSteps),
        [&] { emit window_.panels().runs.open_requested(long_run_); });
    choose();
  }

  void stop() {
    const auto stopped = [&] { return !window_.runs().live(); };
    act("stopping the run", stopped, [&] { window_.runs().current()->stop(); });
  }

  void edit(const std::function<void(experiment::Experiment&)>& change) {
    window_.document().edit("More", change);
  }

  std::size_t points(const QString& line, ChartKind chart = ChartKind::loss) {
    const PlotSeries* series = window_.panels().charts.plot(chart).model().find(line);
    return series ? series->points.size() : 0;
  }
  // True after `steps` more steps were trained and are on the charts.
  Condition grown(std::size_t steps) {
    return [this, wanted = points("1/train") + steps] { return points("1/train") >= wanted; };
  }
  // True when the line has `steps` points, as the others then have, and all of it could be painted.
  Condition painted(const QString& line = {}, std::size_t steps = 0,
                    ChartKind chart = ChartKind::loss) {
    return [this, line, steps, chart, since = QElapsedTimer()]() mutable {
      if (!since.isValid() || points(line, chart) < steps) since.start();
      return since.hasExpired(kPaintedMilliseconds);
    };
  }

  // Performs a user action by `work` and waits for its result `done`.
  void act(const char* what, const Condition& done, const std::function<void()>& work) {
    if (!failed_.empty()) return;
    const double before = stalls_.longest_milliseconds();
    stalls_.timed(work);
    QElapsedTimer clock;
    clock.start();
    bool is_done = done();
    for (; !is_done && !clock.hasExpired(kPatienceMilliseconds); is_done = done()) stalls_.turn();
    if (stalls_.longest_milliseconds() > before) worst_ = what;
    if (!is_done)
      failed_ = std::string(what) + " led to nothing in a minute. The window says: " +
                window_.center().errors().text().toStdString();
  }

  QTemporaryDir directory_;
  QString long_run_;
  MainWindow window_;
  Stalls stalls_;
  double first_step_ = 0, cores_ = 0;
  std::string worst_, failed_;
};

}  // namespace

LiveWindow live_window() { return Workbench().watch(); }

}  // namespace trainyard::bench
