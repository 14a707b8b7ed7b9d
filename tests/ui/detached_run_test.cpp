// SPDX-License-Identifier: GPL-3.0-or-later
// A killed workbench does not end its run: the coordinator is detached, and the next workbench
// attaches to it.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QProcess>
#include <QPushButton>
#include <QSemaphore>
#include <QTest>
#include <atomic>

#include "core/experiment/document.h"
#include "tests/ui/real_window.h"
#include "ui/live_runs.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui::test {
namespace {

class DetachedRun : public RealWindow {
 protected:
  // A run without an end that uses little of the machine.
  QString write_experiment() {
    auto experiment = *experiment::load(TRAINYARD_SOURCE_DIR
                                        "/resources/experiments/four_devices_mirrored_digits.json");
    experiment.training.steps = 100'000;
    experiment.run.seconds_per_step = 0.02;
    const QString file = directory_.filePath("long.json");
    EXPECT_TRUE(experiment::save(experiment, file.toStdString()));
    return file;
  }

  // Starts the program with a run and kills it after `steps` steps. Returns the run as another
  // viewer sees it.
  std::unique_ptr<ui::Run> run_and_kill(std::size_t steps) {
    QProcess workbench;
    workbench.setProcessChannelMode(QProcess::ForwardedChannels);
    workbench.start(TRAINYARD_BIN_DIR "/trainyard",
                    {"--settings", directory_.filePath("killed.ini"), "--run", write_experiment()});
    QStringList runs;
    EXPECT_TRUE(wait([&] {
      return !(runs = run_directories(services().runs_directory)).isEmpty() &&
             QFile::exists(runs.first() + "/" + kControlFile);
    }));
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

TEST_F(DetachedRun, survives_a_killed_workbench_and_is_attached_with_its_history) {
  const auto seen = run_and_kill(10);
  ASSERT_TRUE(seen);
  const std::size_t before = seen->history().train_loss().size();
  ASSERT_TRUE(wait([&] { return seen->history().train_loss().size() > before + 20; }))
      << "the run continues without the window";

  window_ = make_window();
  Document lost;
  lost.set_value("name", "lost work");
  Autosave autosave(lost, directory_.filePath("other"), 1);
  autosave.write_now();
  QDir().mkpath(directory_.filePath("recovery"));
  ASSERT_TRUE(QFile::copy(autosave.copy(), directory_.filePath("recovery/left.json")));
  window_->offer_recoveries();
  ASSERT_TRUE(wait([&] { return window_->center().offers().isVisible(); }));
  EXPECT_TRUE(window_->center().recovery_banner().isVisible()) << "both offers are visible";
  EXPECT_TRUE(window_->center().offers().text().contains("still running"))
      << window_->center().offers().text().toStdString();
  const std::size_t known = seen->history().train_loss().size();
  QTest::mouseClick(window_->center().offers().findChild<QPushButton*>(), Qt::LeftButton);
  ASSERT_TRUE(wait([&] {
    return state() == session::RunState::running && points(ChartKind::loss, "train") >= known;
  }));

  const PointSeries& loss = series(ChartKind::loss, "train")->points;
  for (std::size_t i = 0; i < loss.size(); ++i)
    ASSERT_EQ(loss.at(i).step, static_cast<double>(i)) << "nothing is missing";
  const auto given = *experiment::load(directory_.filePath("long.json").toStdString());
  EXPECT_TRUE(wait([&] { return window_->document().experiment() == given; }))
      << "the given experiment";
  EXPECT_FALSE(window_->controls().run_action().isEnabled()) << "a run is live";
  EXPECT_TRUE(window_->controls().pause_action().isEnabled());
  press(window_->controls().stop_action());
  ASSERT_TRUE(wait([&] { return !window_->runs().live() && !seen->live(); }));
  EXPECT_TRUE(find_live_runs(services()).isEmpty());
}

// Counts the actions of a search, in order.
struct Search {
  static constexpr int kRuns = 8;
  std::atomic<int> asked{0}, asked_before_listening{-1};
  QSemaphore answered;  // released for each connection when the answer is available
  std::atomic<bool> closed_before_the_answer{false};
};

// A real connection that records its use and does not close before the search has answered.
class WatchedClient final : public session::ControlClient {
 public:
  WatchedClient(std::unique_ptr<session::ControlClient> client, std::shared_ptr<Search> search)
      : client_(std::move(client)), search_(std::move(search)) {}
  ~WatchedClient() override {
    if (!search_->answered.tryAcquire(1, kPatience / 4)) search_->closed_before_the_answer = true;
  }
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds limit) override {
    int nothing_yet = -1;
    search_->asked_before_listening.compare_exchange_strong(nothing_yet, search_->asked.load());
    return client_->receive(limit);
  }
  base::Result<void> send(const session::Message& message) override {
    ++search_->asked;
    return client_->send(message);
  }

 private:
  std::unique_ptr<session::ControlClient> client_;
  std::shared_ptr<Search> search_;
};

Services watched(Services services, const std::shared_ptr<Search>& search) {
  services.connect =
      [connect = services.connect, search](
          const std::string& endpoint) -> base::Result<std::unique_ptr<session::ControlClient>> {
    auto client = connect(endpoint);
    if (!client) return base::fail(client.error());
    return std::make_unique<WatchedClient>(std::move(*client), search);
  };
  return services;
}

// One time-out is enough for all dead runs, and closing their connections, which takes seconds,
// blocks nothing.
TEST_F(DetachedRun, with_a_dead_coordinator_is_not_offered) {
  for (int i = 0; i < Search::kRuns; ++i) {
    const QDir run(services().runs_directory + QString("/2026-01-0%1_00-00-00_dead").arg(i + 1));
    ASSERT_TRUE(run.mkpath("."));
    for (const char* name : {kControlFile, kExperimentFile}) {
      QFile file(run.filePath(name));
      ASSERT_TRUE(file.open(QIODevice::WriteOnly));
      file.write("ipc://" + directory_.filePath(QString("dead-%1").arg(i)).toUtf8());
    }
  }
  const auto search = std::make_shared<Search>();
  std::optional<QStringList> found;
  find_live_runs_later(watched(services(), search), window_.get(),
                       [&](const QStringList& live) { found = live; });
  ASSERT_TRUE(wait([&] { return found.has_value(); }));
  EXPECT_FALSE(search->closed_before_the_answer.load())
      << "the answer waited for connections to close";
  search->answered.release(Search::kRuns);
  EXPECT_TRUE(found->isEmpty());
  EXPECT_EQ(search->asked_before_listening.load(), Search::kRuns) << "the requests were sequential";
}

}  // namespace
}  // namespace trainyard::ui::test
