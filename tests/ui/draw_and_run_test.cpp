// SPDX-License-Identifier: GPL-3.0-or-later
// The main job, end to end: draw a topology with mouse and keys, choose a strategy, press Run, and
// watch real processes train.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <QApplication>
#include <QComboBox>
#include <QContextMenuEvent>
#include <QDir>
#include <QFile>
#include <QTest>
#include <QTimer>
#include <cerrno>
#include <cmath>
#include <set>

#include "core/experiment/document.h"
#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

using session::RunState;

class DrawAndRun : public RealWindow {
 protected:
  const topology::Topology& drawn() { return window_->document().experiment().topology; }

  // Two hosts of one device each, and a link between them.
  void draw() {
    press("New");
    drag_part(PaletteKind::host, {300, 200});
    drag_part(PaletteKind::cpu, pixel("host1"));
    drag_part(PaletteKind::cpu, {700, 200});  // creates its host
    rename("host1", "left");
    rename("host2", "right");
    key(Qt::Key_C);
    drag(pixel("left", {6, 6}), pixel("right", {6, 6}));
    key(Qt::Key_Escape);
    key(Qt::Key_Escape);
  }

  void configure(const QString& steps) {
    choose("strategy", "algorithm", "direct");
    type("training", "steps", steps);
    type("training", "batch_per_rank", "16");
    ASSERT_TRUE(wait([&] { return window_->document().problems().empty(); }))
        << base::to_string(window_->document().problems());
  }

  void run() {
    press("Run");
    ASSERT_TRUE(wait([&] {
      return state() == RunState::running || points(ChartKind::loss, "train") > 0;
    })) << window_->center().errors().text().toStdString();
  }

  // Finds processes by their environment: all processes of a run have the test's directories in
  // theirs.
  bool any_process_of_it(const char* program = "trainyard") {
    for (const QString& process : QDir("/proc").entryList({"[1-9]*"}, QDir::Dirs)) {
      QFile environment("/proc/" + process + "/environ"), command("/proc/" + process + "/cmdline");
      if (process.toLongLong() == ::getpid() || !environment.open(QFile::ReadOnly) ||
          !command.open(QFile::ReadOnly))
        continue;
      if (environment.readAll().contains(directory_.path().toUtf8()) &&
          command.readAll().contains(program))
        return true;
    }
    return false;
  }

  // Presses Run. A request made now arrives before the coordinator is ready.
  void begin_to_run() {
    press("Run");
    ASSERT_TRUE(wait([&] { return window_->runs().live(); }))
        << window_->center().errors().text().toStdString();
    EXPECT_TRUE(wait([&] { return any_process_of_it(); })) << "the end of the run would be missed";
  }

  // Checks that no process or socket of the run remains and a new run can start.
  void expect_nothing_left() {
    EXPECT_FALSE(any_process_of_it("trainyard-rank"));
    if (const auto& status = window_->runs().current()->status()) {  // of a run that is stopped at
                                                                     // once none may have come
      EXPECT_EQ(status->ranks.size(), 2u);
      for (const session::RankStatus& rank : status->ranks)
        EXPECT_TRUE(rank.process > 0 && ::kill(static_cast<pid_t>(rank.process), 0) != 0 &&
                    errno == ESRCH)
            << "rank " << rank.rank;
    }
    EXPECT_TRUE(wait([&] { return !any_process_of_it(); }));
    const QDir sockets(directory_.filePath("trainyard"));
    EXPECT_TRUE(wait([&] {
      return sockets.entryList({"run-*"}, QDir::AllEntries | QDir::Hidden | QDir::System).isEmpty();
    }));
    EXPECT_TRUE(window_->controls().run_action().isEnabled());
  }

  // The request arrives before a rank has joined, or when training begins.
  void expect_ended_early() {
    const std::string status = window_->runs().current()->history().result().value("status", "");
    EXPECT_TRUE(status == "cancelled" || status == "stopped") << status;
  }

  // Checks the logged points: finite, each step once and in order, and none missing.
  void expect_every_step(const PlotSeries& line, std::size_t at_least) {
    ASSERT_GE(line.points.size(), at_least);
    for (std::size_t i = 0; i < line.points.size(); ++i) {
      ASSERT_EQ(line.points.at(i).step, static_cast<double>(i)) << line.id.toStdString();
      ASSERT_TRUE(std::isfinite(line.points.value(i))) << line.id.toStdString();
    }
  }
};

TEST_F(DrawAndRun, topology_is_drawn_run_paused_stepped_resumed_and_stopped) {
  draw();
  ASSERT_EQ(drawn().hosts.size(), 2u);
  EXPECT_EQ(drawn().hosts[0].name, "left");
  EXPECT_EQ(drawn().hosts[1].devices.size(), 1u);
  ASSERT_EQ(drawn().links.size(), 1u);
  configure("100000");
  EXPECT_EQ(window_->document().experiment().strategy.algorithm, collective::Algorithm::direct);
  run();

  ASSERT_TRUE(wait([&] {
    return points(ChartKind::loss, "train") > 20 && points(ChartKind::rank_bytes, "received1") > 2;
  }));
  expect_every_step(*series(ChartKind::loss, "train"), 20);
  for (const char* id : {"sent0", "sent1", "received0", "received1"}) {
    const PlotSeries* bytes = series(ChartKind::rank_bytes, id);
    ASSERT_TRUE(bytes) << id;
    EXPECT_GT(bytes->points.value(bytes->points.size() - 1), 0) << id;
  }
  EXPECT_TRUE(series(ChartKind::link_bytes, "left to right") &&
              series(ChartKind::link_bytes, "right to left"));
  EXPECT_TRUE(series(ChartKind::gradient_norm, "local1") &&
              series(ChartKind::gradient_norm, "reduced0"));

  ASSERT_TRUE(wait([&] { return window_->controls().pause_action().isEnabled(); }));
  press(window_->controls().pause_action());
  ASSERT_TRUE(wait([&] { return state() == RunState::paused; }));
  const std::int64_t paused = step();
  ASSERT_TRUE(wait([&] {
    return points(ChartKind::loss, "train") == static_cast<std::size_t>(paused);
  })) << "the charts show all steps";
  const auto recorded_by_both = [&](std::int64_t step) {
    std::set<int> ranks;
    for (const auto& [key, values] : window_->runs().current()->history().chunk_values())
      if (key.step == step) ranks.insert(key.rank);
    return ranks.size() == 2;
  };
  for (int once = 1; once <= 3; ++once) {
    press(window_->controls().step_action());
    ASSERT_TRUE(wait([&] { return state() == RunState::paused && step() == paused + once; }));
    ASSERT_TRUE(wait([&] {
      return points(ChartKind::loss, "train") == static_cast<std::size_t>(paused + once);
    }));
    EXPECT_TRUE(wait([&] { return recorded_by_both(paused + once - 1); }))
        << "the stepper shows the chunks";
  }
  press(window_->controls().pause_action());  // the action now resumes
  ASSERT_TRUE(wait([&] { return step() > paused + 20; }));
  press(window_->controls().stop_action());
  ASSERT_TRUE(wait([&] { return !window_->runs().live() && !window_->panels().charts.reading(); }));
  EXPECT_FALSE(window_->runs().current()->history().result().is_null());
  expect_every_step(*series(ChartKind::loss, "train"), static_cast<std::size_t>(paused) + 20);
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
}

TEST_F(DrawAndRun, rank_is_slowed_down_from_the_menu_of_its_device) {
  draw();
  configure("100000");
  run();
  const std::string device = drawn().hosts[1].devices[0].name;
  ASSERT_TRUE(wait([&] {
    return canvas().topology_scene().overlay() &&
           canvas().topology_scene().overlay()->devices.contains(device) && step() > 3;
  }));
  bool chosen = false;
  QTimer menu;  // the menu blocks its caller
  QObject::connect(&menu, &QTimer::timeout, [&] {
    QWidget* popup = QApplication::activePopupWidget();
    if (auto* action = popup ? popup->findChild<QAction*>("slow_5") : nullptr)
      action->trigger(), chosen = true;
    if (popup) popup->close();
  });
  menu.start(10);
  QContextMenuEvent asked(QContextMenuEvent::Mouse, pixel(device),
                          canvas().viewport()->mapToGlobal(pixel(device)));
  QApplication::sendEvent(canvas().viewport(), &asked);
  menu.stop();
  ASSERT_TRUE(chosen);
  const auto last = [&](int rank) {
    const auto* factors =
        window_->runs().current()->history().find({telemetry::Metric::slow_down, rank, 0});
    return factors ? factors->values.back() : 1;
  };
  ASSERT_TRUE(wait([&] { return last(1) == 5; })) << "the rank reports the slowdown";
  EXPECT_EQ(last(0), 1);
  EXPECT_EQ(drawn().hosts[1].devices[0].slow_down, 1) << "the drawing is unchanged";
  press(window_->controls().stop_action());
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
}

TEST_F(DrawAndRun, full_undo_and_redo_do_not_affect_a_live_run) {
  draw();
  configure("100000");
  file_ = directory_.filePath("drawn.json");
  press("Save");
  ASSERT_FALSE(window_->isWindowModified());
  run();
  const experiment::Experiment whole = window_->document().experiment();
  QUndoStack& undo = window_->document().undo_stack();
  const int edits = undo.count();
  EXPECT_GE(edits, 8);
  for (int i = 0; i < edits; ++i) press("Undo");
  EXPECT_EQ(window_->document().experiment(), experiment::Experiment{});
  EXPECT_TRUE(window_->isWindowModified());
  const std::int64_t before = window_->runs().current()->status() ? step() : 0;
  ASSERT_TRUE(wait([&] { return state() == RunState::running && step() > before; }))
      << "the run does not match the document";
  for (int i = 0; i < edits; ++i) press("Redo");
  EXPECT_EQ(window_->document().experiment(), whole);
  EXPECT_FALSE(window_->isWindowModified()) << "the document equals the saved one";
}

TEST_F(DrawAndRun, drawing_and_finished_run_can_be_opened_again) {
  draw();
  configure("60");
  file_ = directory_.filePath("drawn.json");
  QTest::keyClick(window_.get(), Qt::Key_S, Qt::ControlModifier);
  const experiment::Experiment saved = window_->document().experiment();
  EXPECT_EQ(experiment::load(file_.toStdString()).value(), saved);
  run();
  ASSERT_TRUE(wait([&] { return !window_->runs().live() && !window_->panels().charts.reading(); }));
  const ui::Run& ran = *window_->runs().current();
  ASSERT_EQ(ran.history().result().value("status", ""), "completed")
      << window_->center().errors().text().toStdString();
  EXPECT_TRUE(ran.name().startsWith("drawn "))
      << ran.name().toStdString() << ": nothing but the file has a name";
  expect_every_step(*series(ChartKind::loss, "train"), 60);
  EXPECT_EQ(points(ChartKind::loss, "train"), 60u);
  EXPECT_GE(points(ChartKind::accuracy, "held_out"), 1u);

  const auto first = std::move(window_);  // keeps its charts for comparison
  const QString directory = ran.directory();
  window_ = make_window();
  ASSERT_TRUE(window_->open(directory));
  ASSERT_TRUE(wait([&] {
    return window_->runs().current()->complete() && !window_->panels().charts.reading();
  }));
  for (const ChartKind kind : kChartKinds) {
    const auto &before = first->panels().charts.plot(kind).model().series(),
               &after = window_->panels().charts.plot(kind).model().series();
    ASSERT_EQ(before.size(), after.size()) << chart_title(kind).name;
    for (std::size_t line = 0; line < before.size(); ++line) {
      EXPECT_EQ(before[line]->id, after[line]->id);
      ASSERT_EQ(before[line]->points.size(), after[line]->points.size())
          << chart_title(kind).name << before[line]->id.toStdString();
      for (std::size_t i = 0; i < before[line]->points.size(); ++i)
        ASSERT_EQ(before[line]->points.value(i), after[line]->points.value(i));
    }
  }
  EXPECT_TRUE(wait([&] { return window_->document().experiment() == saved; }))
      << "the given experiment of the run is shown";
  EXPECT_FALSE(window_->isWindowModified());
  EXPECT_TRUE(window_->files().open(file_));
  EXPECT_EQ(window_->document().experiment(), saved);
}

TEST_F(DrawAndRun, freezing_the_charts_stops_neither_training_nor_recording) {
  draw();
  configure("100000");
  run();
  ASSERT_TRUE(wait([&] { return points(ChartKind::loss, "train") > 10; }));
  press(*window_->panels().charts.freeze_action());
  const PlotView& loss = window_->panels().charts.plot(ChartKind::loss);
  const double shown = loss.shown().x.high;
  const std::size_t logged = points(ChartKind::loss, "train");
  ASSERT_TRUE(wait([&] { return points(ChartKind::loss, "train") > logged + 100; }));
  EXPECT_EQ(loss.shown().x.high, shown);
  EXPECT_TRUE(loss.badges().join(" ").contains("frozen"));
  press(*window_->panels().charts.freeze_action());
  ASSERT_TRUE(wait([&] { return loss.shown().x.high > static_cast<double>(logged); }));
}

TEST_F(DrawAndRun, stop_immediately_ends_a_starting_run) {
  draw();
  configure("100000");
  begin_to_run();
  press(window_->controls().stop_action());
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  expect_ended_early();
  expect_nothing_left();
}

TEST_F(DrawAndRun, pace_selected_during_start_is_applied) {
  draw();
  configure("100000");
  begin_to_run();
  QTest::keyClick(window_->controls().pace(), Qt::Key_Home);
  EXPECT_EQ(window_->controls().pace()->currentText(), "1 step/s");
  ASSERT_TRUE(wait([&] {
    return state() == RunState::running &&
           window_->runs().current()->status()->seconds_per_step == 1;
  }));
  EXPECT_EQ(window_->controls().pace()->currentText(), "1 step/s");
}

TEST_F(DrawAndRun, closing_with_stop_ends_a_starting_run) {
  draw();
  configure("100000");
  begin_to_run();
  closing_ = LiveRunAnswer::stop;
  EXPECT_FALSE(window_->close()) << "the window closes after the end of the run";
  EXPECT_EQ(asked_, 1);
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  EXPECT_TRUE(wait([&] { return !window_->isVisible(); }));
  expect_ended_early();
  expect_nothing_left();
}

TEST_F(DrawAndRun, closing_during_training_asks_and_closes_after_the_stop) {
  draw();
  configure("100000");
  run();
  ASSERT_TRUE(wait([&] { return state() == RunState::running; }));
  EXPECT_FALSE(window_->close());
  EXPECT_EQ(asked_, 1);
  EXPECT_TRUE(window_->runs().live());
  closing_ = LiveRunAnswer::stop;
  EXPECT_FALSE(window_->close()) << "the window closes after the end of the run";
  ASSERT_TRUE(wait([&] { return !window_->isVisible(); }));
  EXPECT_FALSE(window_->runs().live());
}

}  // namespace
}  // namespace trainyard::ui::test
