// SPDX-License-Identifier: GPL-3.0-or-later
#include <QLineEdit>
#include <QTableView>

#include "tests/bench/workbench/figures.h"
#include "tests/bench/workbench/stalls.h"
#include "tests/ui/charts/synthetic_run.h"
#include "ui/panels/log_panel.h"

namespace trainyard::bench {
namespace {

using namespace ui;

class LongLog {
 public:
  static constexpr int kRanks = 4, kLines = 50'000, kCharacters = 2000;

  LongLog() {
    auto writer = test::SyntheticRun{.ranks = kRanks}.create(directory_.path().toStdString());
    const std::string text(kCharacters, 'x');
    for (int line = 0; line < kLines; ++line)
      (void)writer.append_json(telemetry::FrameType::log, line % kRanks,
                               {{"level", "info"},
                                {"time_ns", 1000 * line},
                                {"text", std::to_string(line) + " " + text}});
    (void)writer.close();
    panel_.resize(900, 400);
    panel_.show();
    QApplication::processEvents();
  }

  double look_through() {
    const auto run = Run::open({}, directory_.path());
    until(kLines, [&] { panel_.set_run(run.get()); });
    until(kLines / kRanks, [&] { panel_.show_lines_of(1); });
    auto* find = panel_.findChild<QLineEdit*>();
    until(1, [&] { panel_.show_lines_of({}), find->setText("49999 X"); });
    until(kLines, [&] { find->clear(); });
    stalls_.timed([&] { panel_.table().selectAll(), (void)panel_.text(); });
    panel_.set_run(nullptr);
    return stalls_.longest_milliseconds();
  }

 private:
  template <class Work>
  void until(int rows, Work work) {
    stalls_.timed(work);
    while (panel_.table().model()->rowCount() != rows) stalls_.turn();
  }

  QTemporaryDir directory_;
  LogPanel panel_;
  Stalls stalls_;
};

}  // namespace

double long_log_stall() { return LongLog().look_through(); }

}  // namespace trainyard::bench
