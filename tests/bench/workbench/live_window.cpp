// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <cstdio>

#include "backends/zmq/control.h"
#include "tests/bench/workbench/figures.h"
#include "tests/bench/workbench/stalls.h"
#include "ui/main_window.h"

namespace trainyard::bench {
namespace {

using namespace ui;

constexpr qint64 kPatienceMilliseconds = 60'000;

Setup setup(const QTemporaryDir& directory) {
  for (const char* place : {"XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_CONFIG_HOME"}) qputenv(place, directory.path().toUtf8());
  Setup made;
  made.services = {zmq::connect, TRAINYARD_BIN_DIR "/trainyard-cli", directory.filePath("trainyard/runs"), TRAINYARD_SOURCE_DIR "/resources/experiments"};
  made.settings_file = directory.filePath("settings.ini");
  made.recovery = directory.filePath("recovery");
  const QString file = directory.filePath("meanwhile.json");
  made.questions = Questions{[](const QString&) { return SaveAnswer::discard; }, [](const QString&) { return LiveRunAnswer::stop; }, [file] { return file; },
                             [file](const QString&) { return file; }, [](const QString& start) { return start; }};
  return made;
}

class LiveWindow {
 public:
  LiveWindow() : window_(setup(directory_)) {
    window_.resize(1600, 1000);
    window_.show();
  }
  ~LiveWindow() {
    if (window_.runs().live()) window_.runs().current()->stop();
    until([&] { return !window_.runs().live(); });
  }

  double watch() {
    if (!train()) return std::printf("nothing trains: %s\n", qUtf8Printable(window_.errors().text())), 0;
    stalls_ = {};
    act(300, [] {});
    for (const char* name : {"plan", "log", "problems", "runs", "charts"}) act(20, [&] { window_.workspace().raise(name); });
    act(100, [&] { window_.document().edit("More at once", [](experiment::Experiment& e) { e.training.batch_per_rank = 48; }); });
    act(100, [&] { window_.files().save_as(); });
    act(100, [&] { window_.charts().plot(ChartKind::loss).zoom_at({1, 0.5}, 0.5, false); });
    return stalls_.longest_milliseconds();
  }

 private:
  bool train() {
    if (!window_.open(TRAINYARD_SOURCE_DIR "/resources/experiments/four_devices_mirrored_digits.json")) return false;
    window_.document().edit("Train for long", [](experiment::Experiment& e) { e.training.steps = 100'000; });
    window_.start_run();
    return until([&] { return logged() > 100; });
  }
  std::size_t logged() {
    const PlotSeries* line = window_.charts().plot(ChartKind::loss).model().find("1/train");
    return line ? line->points.size() : 0;
  }
  template <class Work>
  void act(std::size_t steps, Work work) {
    const std::size_t before = logged();
    stalls_.timed(work);
    until([&] { return logged() >= before + steps; });
  }
  template <class Condition>
  bool until(Condition condition) {
    QElapsedTimer clock;
    clock.start();
    while (!condition() && !clock.hasExpired(kPatienceMilliseconds)) stalls_.turn();
    return condition();
  }

  QTemporaryDir directory_;
  MainWindow window_;
  Stalls stalls_;
};

}  // namespace

double live_window_stall() { return LiveWindow().watch(); }

}  // namespace trainyard::bench
