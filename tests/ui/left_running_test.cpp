// SPDX-License-Identifier: GPL-3.0-or-later
// A workbench that is killed loses no run: the coordinator was started detached, and the next start finds it and attaches.
#include <gtest/gtest.h>

#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QProcess>
#include <QPushButton>
#include <QTest>

#include "core/experiment/document.h"
#include "tests/ui/real_window.h"
#include "ui/live_runs.h"
#include "ui/model/run_directory.h"

namespace trainyard::ui::test {
namespace {

class LeftRunning : public RealWindow {
 protected:
  // Never ends by itself, and leaves the machine room to breathe.
  QString write_experiment() {
    auto experiment = *experiment::load(TRAINYARD_SOURCE_DIR "/resources/experiments/four_devices_mirrored_digits.json");
    experiment.training.steps = 100'000;
    experiment.run.seconds_per_step = 0.02;
    const QString file = directory_.filePath("long.json");
    EXPECT_TRUE(experiment::save(experiment, file.toStdString()));
    return file;
  }

  // The program itself, with a run; killed without a word once that has trained `steps`. Gives the run as another viewer sees it.
  std::unique_ptr<ui::Run> run_and_kill(std::size_t steps) {
    QProcess workbench;
    workbench.setProcessChannelMode(QProcess::ForwardedChannels);
    workbench.start(TRAINYARD_BIN_DIR "/trainyard", {"--settings", directory_.filePath("killed.ini"), "--run", write_experiment()});
    QStringList runs;
    EXPECT_TRUE(wait([&] { return !(runs = run_directories(services().runs_directory)).isEmpty() && QFile::exists(runs.first() + "/" + kControlFile); }));
    if (runs.isEmpty()) return nullptr;
    auto run = ui::Run::open(services(), runs.first());
    EXPECT_TRUE(wait([&] { return run->live() && run->history().train_loss().size() >= steps; }));
    EXPECT_EQ(workbench.state(), QProcess::Running);
    workbench.kill();
    EXPECT_TRUE(workbench.waitForFinished());
    EXPECT_EQ(workbench.exitStatus(), QProcess::CrashExit);
    return run;
  }
};

TEST_F(LeftRunning, a_killed_workbench_leaves_its_run_and_the_next_attaches_with_the_whole_history) {
  const auto seen = run_and_kill(10);
  ASSERT_TRUE(seen);
  const std::size_t before = seen->history().train_loss().size();
  ASSERT_TRUE(wait([&] { return seen->history().train_loss().size() > before + 20; })) << "it goes on without the window";

  window_ = make_window();
  QElapsedTimer clock;
  clock.start();
  window_->offer_what_was_left();
  ASSERT_TRUE(wait([&] { return window_->offers().isVisible(); }));
  EXPECT_TRUE(window_->offers().text().contains("still alive")) << window_->offers().text().toStdString();
  const std::size_t known = seen->history().train_loss().size();
  QTest::mouseClick(window_->offers().findChild<QPushButton*>(), Qt::LeftButton);
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running && points(ChartKind::loss, "train") >= known; }));
  EXPECT_LE(clock.elapsed(), 2000) << "from the start of looking to the whole history on the charts";

  const PointSeries& loss = series(ChartKind::loss, "train")->points;
  for (std::size_t i = 0; i < loss.size(); ++i) ASSERT_EQ(loss.at(i).step, static_cast<double>(i)) << "nothing is missing";
  const auto given = *experiment::load(directory_.filePath("long.json").toStdString());
  EXPECT_TRUE(wait([&] { return window_->document().experiment() == given; })) << "as given, not as resolved";
  EXPECT_FALSE(window_->controls().run_action().isEnabled()) << "a run is live";
  EXPECT_TRUE(window_->controls().pause_action().isEnabled());
  press(window_->controls().stop_action());
  ASSERT_TRUE(wait([&] { return !window_->runs().live() && !seen->live(); }));
  EXPECT_TRUE(find_live_runs(services()).isEmpty());
}

TEST_F(LeftRunning, runs_whose_coordinator_died_too_are_not_offered_and_cost_no_time) {
  for (int i = 0; i < 8; ++i) {
    const QDir run(services().runs_directory + QString("/2026-01-0%1_00-00-00_dead").arg(i + 1));
    ASSERT_TRUE(run.mkpath("."));
    for (const char* name : {kControlFile, kExperimentFile}) {
      QFile file(run.filePath(name));
      ASSERT_TRUE(file.open(QIODevice::WriteOnly));
      file.write("ipc://" + directory_.filePath(QString("dead-%1").arg(i)).toUtf8());
    }
  }
  QElapsedTimer clock;
  clock.start();
  std::optional<QStringList> found;
  find_live_runs_later(services(), window_.get(), [&](const QStringList& live) { found = live; });
  ASSERT_TRUE(wait([&] { return found.has_value(); }));
  EXPECT_TRUE(found->isEmpty());
  EXPECT_LE(clock.elapsed(), 1500) << "all are asked at once";
}

}  // namespace
}  // namespace trainyard::ui::test
