// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QApplication>
#include <QFile>
#include <QScrollArea>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <deque>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "tests/ui/charts/synthetic_run.h"
#include "ui/charts/run_charts.h"
#include "ui/model/runs/run_directory.h"

namespace trainyard::ui {
namespace {

using testing::HasSubstr;

// A minimal coordinator: answers only every second request, and executes each id once.
class FakeCoordinator {
 public:
  std::vector<session::Command> carried_out() const {
    const std::lock_guard lock(mutex_);
    return carried_out_;
  }
  std::size_t asked() const {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  // Appends the answer, if it gives one.
  void hear(const session::Ask& ask, std::deque<session::Message>& answers) {
    const std::lock_guard lock(mutex_);
    ++asked_;
    if (ask.command != session::Command::ask && seen_.insert(ask.id).second)
      carried_out_.push_back(ask.command);
    if (asked_ % 2 == 0) return;
    auto& status =
        std::get<session::Status>(answers.emplace_back(std::in_place_type<session::Status>));
    status.answers = ask.id;
    status.state = session::RunState::running;
    status.step = 42;
  }

 private:
  mutable std::mutex mutex_;
  std::size_t asked_ = 0;
  std::set<std::uint64_t> seen_;
  std::vector<session::Command> carried_out_;
};

class FakeClient : public session::ControlClient {
 public:
  explicit FakeClient(FakeCoordinator& coordinator) : coordinator_(coordinator) {}
  base::Result<std::optional<session::Message>> receive(std::chrono::milliseconds) override {
    if (answers_.empty()) return std::nullopt;
    session::Message message = answers_.front();
    answers_.pop_front();
    return message;
  }
  base::Result<void> send(const session::Message& message) override {
    coordinator_.hear(std::get<session::Ask>(message), answers_);
    return {};
  }

 private:
  FakeCoordinator& coordinator_;
  std::deque<session::Message> answers_;
};

class RunTest : public testing::Test {
 protected:
  QString directory() const { return directory_.path(); }
  std::filesystem::path recording() const {
    return directory_.filePath(telemetry::kRecordingFile).toStdString();
  }
  std::unique_ptr<ui::Run> open() {
    auto run = ui::Run::open(services_, directory());
    QObject::connect(run.get(), &ui::Run::error_reported,
                     [this](const QString& text) { troubles_ << text; });
    return run;
  }
  void listen() {
    QFile(directory_.filePath(kControlFile)).open(QIODevice::WriteOnly);
    services_.connect =
        [this](const std::string&) -> base::Result<std::unique_ptr<session::ControlClient>> {
      return std::make_unique<FakeClient>(coordinator_);
    };
  }

  QTemporaryDir directory_;
  FakeCoordinator coordinator_;
  Services services_;
  test::SyntheticRun synthetic_;
  QStringList troubles_;
};

TEST_F(RunTest, finished_run_is_read_completely_and_is_not_live) {
  synthetic_.record(directory().toStdString(), 300);
  const auto run = open();
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }));
  EXPECT_EQ(run->history().train_loss().size(), 300u);
  EXPECT_FALSE(run->live());
  EXPECT_FALSE(run->status());
  EXPECT_TRUE(troubles_.isEmpty()) << troubles_.join("\n").toStdString();
}

TEST_F(RunTest, live_run_grows_with_its_recording_and_ends) {
  listen();
  auto writer = synthetic_.create(directory().toStdString());
  ASSERT_TRUE(synthetic_.append(writer, 0, 10));
  const auto run = open();
  QSignalSpy ended(run.get(), &ui::Run::ended);
  ASSERT_TRUE(
      QTest::qWaitFor([&] { return run->live() && run->history().train_loss().size() == 10; }));
  ASSERT_TRUE(synthetic_.append(writer, 10, 25));
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->history().train_loss().size() == 25; }));
  EXPECT_EQ(ended.size(), 0);
  EXPECT_EQ(run->status()->step, 42);
  ASSERT_TRUE(writer.append_json(telemetry::FrameType::result, -1, {{"status", "completed"}}));
  ASSERT_TRUE(writer.close());
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.size() == 1; }));
  EXPECT_FALSE(run->live());
  EXPECT_EQ(run->history().result()["status"], "completed");
}

TEST_F(RunTest, commands_are_repeated_until_answered_and_executed_once_in_order) {
  listen();
  auto writer = synthetic_.create(directory().toStdString());
  ASSERT_TRUE(writer.flush());
  const auto run = open();
  run->pause();
  run->single_step();
  run->set_pace(0.5);
  run->slow({0, 5, 0.5});
  run->resume();
  using enum session::Command;
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return coordinator_.carried_out().size() == 5 && coordinator_.asked() > 12; }));
  EXPECT_THAT(coordinator_.carried_out(),
              testing::ElementsAre(pause, single_step, set_pace, slow, resume));
}

TEST_F(RunTest, truncated_recording_returns_complete_frames_and_reports_the_loss) {
  {
    auto writer = synthetic_.create(directory().toStdString());
    ASSERT_TRUE(synthetic_.append(writer, 0, 20));
  }
  std::filesystem::resize_file(recording(), std::filesystem::file_size(recording()) - 40);
  const auto run = open();
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }));
  EXPECT_GE(run->history().train_loss().size(), 18u);
  ASSERT_EQ(troubles_.size(), 1);
  EXPECT_THAT(troubles_[0].toStdString(), HasSubstr("lost"));
}

TEST_F(RunTest, missing_recording_is_reported) {
  const auto run = open();
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }));
  EXPECT_EQ(troubles_.size(), 1);
}

TEST_F(RunTest, program_that_ends_before_recording_has_its_last_output) {
  const QString program = directory_.filePath("cli");
  std::ofstream(program.toStdString())
      << "#!/bin/sh\necho first; echo \"no such model\" >&2; exit 2\n";
  QFile::setPermissions(program, QFile::ReadOwner | QFile::ExeOwner | QFile::WriteOwner);
  services_.command_line_program = program;
  services_.runs_directory = directory_.filePath("runs");
  auto run = ui::Run::start(services_, {}, directory(), "Four devices!");
  ASSERT_TRUE(run) << base::to_string(run.error());
  QSignalSpy ended(run->get(), &ui::Run::ended), troubles(run->get(), &ui::Run::error_reported);
  ASSERT_TRUE(QTest::qWaitFor([&] { return ended.size() == 1; }));
  ASSERT_EQ(troubles.size(), 1);
  EXPECT_THAT(troubles[0][0].toString().toStdString(), HasSubstr("no such model"));
  EXPECT_TRUE((*run)->directory().endsWith("_four-devices"));
  EXPECT_TRUE(QFile::exists((*run)->directory() + "/" + kExperimentFile));
}

TEST_F(RunTest, stopped_run_ends_even_if_the_window_closes_before_it_listens) {
  const QString program = directory_.filePath("cli"), ready = directory_.filePath("ready"),
                interrupted = directory_.filePath("interrupted");
  std::ofstream(program.toStdString())
      << "#!/bin/sh\ntrap 'touch " << interrupted.toStdString() << "; exit' TERM\ntouch "
      << ready.toStdString() << "\nwhile true; do sleep 0.05; done\n";
  QFile::setPermissions(program, QFile::ReadOwner | QFile::ExeOwner | QFile::WriteOwner);
  services_.command_line_program = program;
  services_.runs_directory = directory_.filePath("runs");
  auto run = ui::Run::start(services_, {}, directory(), "");
  ASSERT_TRUE(run) << base::to_string(run.error());
  ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(ready); }));
  (*run)->stop();
  run->reset();
  EXPECT_TRUE(QTest::qWaitFor([&] { return QFile::exists(interrupted); }));
}

TEST_F(RunTest, missing_program_is_a_problem_immediately) {
  services_.command_line_program = directory_.filePath("nothing");
  services_.runs_directory = directory_.filePath("runs");
  EXPECT_FALSE(ui::Run::start(services_, {}, directory(), ""));
}

TEST_F(RunTest, charts_follow_each_rank_and_freeze_without_stopping_the_run) {
  listen();
  auto writer = synthetic_.create(directory().toStdString());
  ASSERT_TRUE(synthetic_.append(writer, 0, 10));
  const auto run = open();
  RunCharts charts;
  charts.resize(900, 700);
  charts.show();
  charts.set_runs({run.get()});
  const auto loss = [&] { return charts.plot(ChartKind::loss).model().find("1/train"); };
  ASSERT_TRUE(QTest::qWaitFor([&] { return loss() && loss()->points.size() == 10; }));
  EXPECT_EQ(charts.plot(ChartKind::rank_bytes).model().series().size(), 8u);
  charts.set_frozen(true);
  ASSERT_TRUE(synthetic_.append(writer, 10, 300));  // includes the first held-out figures
  ASSERT_TRUE(QTest::qWaitFor([&] { return loss()->points.size() == 300; }));
  EXPECT_EQ(charts.plot(ChartKind::loss).model().find("1/held_out")->points.size(), 1u);
  EXPECT_LT(charts.plot(ChartKind::loss).shown().x.high, 100);
}

// Each rank has one stage, and the last reports first: until the chosen segment has reported, the
// first one that has represents it.
TEST_F(RunTest, chart_of_the_chosen_segment_replaces_the_default_segment) {
  listen();
  auto writer = synthetic_.create(directory().toStdString());
  const auto report_rank = [&](int rank) {
    const auto of_another = [&](const telemetry::Event& event) {
      using telemetry::Metric;
      const auto metric = static_cast<Metric>(event.subject);
      return event.index != rank &&
             (metric == Metric::local_gradient_norm || metric == Metric::reduced_gradient_norm ||
              metric == Metric::update_ratio);
    };
    for (int step = 0; step < 10; ++step) {
      std::vector<telemetry::Event> events = synthetic_.step(rank, step);
      std::erase_if(events, of_another);
      ASSERT_TRUE(writer.append_events(rank, events));
    }
    ASSERT_TRUE(writer.flush());
  };
  ASSERT_TRUE(writer.flush());
  const auto run = open();
  RunCharts charts;
  charts.set_runs({run.get()});
  const auto shown = [&] {
    QStringList ids;
    for (const auto& series : charts.plot(ChartKind::gradient_norm).model().series())
      ids << series->id;
    return ids.join(' ');
  };
  report_rank(2);
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown() == "1/reduced2 1/local2"; }))
      << shown().toStdString();
  for (const int rank : {1, 3, 0}) report_rank(rank);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return run->history().train_loss().size() == 10 && !charts.reading(); }));
  EXPECT_EQ(shown(), "1/reduced0 1/local0");
  EXPECT_EQ(charts.plot(ChartKind::gradient_norm).model().find("1/reduced0")->points.size(), 10u);
}

TEST(RunCharts, scroll_by_wheel_if_they_do_not_fit) {
  RunCharts charts;
  charts.resize(700, 400);
  charts.show();
  const auto* area = charts.findChild<QScrollArea*>(QString(), Qt::FindDirectChildrenOnly);
  ASSERT_TRUE(QTest::qWaitFor([&] { return area->verticalScrollBar()->maximum() > 100; }));
  QWidget* port = charts.plot(ChartKind::loss).canvas().viewport();
  const QPointF at = port->rect().center();
  const auto turn = [&](Qt::KeyboardModifiers keys) {
    QWheelEvent wheel(at, port->mapToGlobal(at), {}, {0, -120}, Qt::NoButton, keys,
                      Qt::NoScrollPhase, false);
    QSpontaneKeyEvent::setSpontaneous(
        &wheel);  // a spontaneous event, which is forwarded to parents
    qApp->notify(port, &wheel);
    return area->verticalScrollBar()->value();
  };
  EXPECT_EQ(turn(Qt::ControlModifier), 0) << "Ctrl and wheel zoom";
  EXPECT_GT(turn({}), 0);
}

TEST_F(RunTest, chart_without_points_states_the_reason) {
  RunCharts charts;
  charts.resize(900, 700);
  charts.show();
  const auto empty_text = [&](ChartKind kind) {
    charts.plot(kind).refresh();
    return charts.plot(kind).overlay().empty.toStdString();
  };
  EXPECT_THAT(empty_text(ChartKind::rank_bytes), testing::HasSubstr("press Run"));
  listen();
  const test::SyntheticRun alone{.ranks = 1, .segments = {}};
  auto writer = alone.create(directory().toStdString());
  ASSERT_TRUE(writer.flush());
  const auto run = open();
  charts.set_runs({run.get()});
  EXPECT_THAT(empty_text(ChartKind::rank_bytes), testing::HasSubstr("Waiting"));
  ASSERT_TRUE(alone.append(writer, 0, 5));
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return run->live() && run->history().train_loss().size() == 5 && !charts.reading(); }));
  EXPECT_EQ(empty_text(ChartKind::loss), "");
  EXPECT_THAT(empty_text(ChartKind::rank_bytes), testing::HasSubstr("single rank"));
  EXPECT_THAT(empty_text(ChartKind::link_bytes), testing::HasSubstr("single rank"));
  EXPECT_THAT(empty_text(ChartKind::gradient_norm), testing::HasSubstr("Waiting"));
  ASSERT_TRUE(writer.append_json(telemetry::FrameType::result, -1, {{"status", "completed"}}));
  ASSERT_TRUE(writer.close());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete() && !charts.reading(); }));
  EXPECT_THAT(empty_text(ChartKind::gradient_norm), testing::HasSubstr("recorded no"));
}

TEST_F(RunTest, charts_overlay_runs_and_remove_a_deleted_one) {
  synthetic_.record(directory().toStdString(), 50);
  auto first = open(), second = open();
  RunCharts charts;
  charts.set_runs({first.get(), second.get()});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return first->complete() && second->complete() && !charts.reading(); }));
  const PlotModel& memory = charts.plot(ChartKind::memory).model();
  ASSERT_EQ(memory.series().size(), 8u);  // every rank of each run, in order of arrival
  EXPECT_EQ(memory.find("1/rank0")->style.color, 0);
  EXPECT_EQ(memory.find("2/rank0")->style.color, 1);
  for (const char* line : {"1/rank0", "2/rank0"})
    EXPECT_FALSE(memory.find(line)->style.label.section(" · ", 0, 0).contains(QChar(32)))
        << "names are distinguished by their suffix";
  second.reset();
  EXPECT_EQ(charts.plot(ChartKind::memory).model().series().size(),
            4u);  // alone again: rank by rank
}

}  // namespace
}  // namespace trainyard::ui
