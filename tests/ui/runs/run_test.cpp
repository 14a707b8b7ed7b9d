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

// A coordinator in a few lines: answers every second Ask only, and carries out each id once.
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

TEST_F(RunTest, an_old_run_is_read_whole_and_is_not_live) {
  synthetic_.record(directory().toStdString(), 300);
  const auto run = open();
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }));
  EXPECT_EQ(run->history().train_loss().size(), 300u);
  EXPECT_FALSE(run->live());
  EXPECT_FALSE(run->status());
  EXPECT_TRUE(troubles_.isEmpty()) << troubles_.join("\n").toStdString();
}

TEST_F(RunTest, a_live_run_grows_while_its_recording_grows_and_then_ends) {
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

TEST_F(RunTest, commands_are_repeated_until_answered_and_carried_out_once_in_order) {
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

TEST_F(RunTest, a_torn_recording_gives_what_is_whole_and_says_what_is_lost) {
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

TEST_F(RunTest, a_missing_recording_is_said) {
  const auto run = open();
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete(); }));
  EXPECT_EQ(troubles_.size(), 1);
}

TEST_F(RunTest, a_program_that_dies_before_it_records_says_its_last_words) {
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

TEST_F(RunTest,
       one_that_was_told_to_stop_does_not_train_on_when_the_window_goes_before_it_listens) {
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

TEST_F(RunTest, a_program_that_is_not_there_is_a_problem_at_once) {
  services_.command_line_program = directory_.filePath("nothing");
  services_.runs_directory = directory_.filePath("runs");
  EXPECT_FALSE(ui::Run::start(services_, {}, directory(), ""));
}

TEST_F(RunTest, charts_follow_a_run_rank_by_rank_and_freeze_without_stopping_it) {
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
  ASSERT_TRUE(synthetic_.append(writer, 10, 300));  // brings the first held-out figures too
  ASSERT_TRUE(QTest::qWaitFor([&] { return loss()->points.size() == 300; }));
  EXPECT_EQ(charts.plot(ChartKind::loss).model().find("1/held_out")->points.size(), 1u);
  EXPECT_LT(charts.plot(ChartKind::loss).shown().x.high, 100);
}

// Each rank has one stage, and the last reports first: until the chosen segment has reported, the
// first one that has represents it.
TEST_F(RunTest, a_chart_of_the_chosen_segment_lets_go_of_the_one_that_stood_for_it) {
  listen();
  auto writer = synthetic_.create(directory().toStdString());
  const auto tell = [&](int rank) {
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
  tell(2);
  ASSERT_TRUE(QTest::qWaitFor([&] { return shown() == "1/reduced2 1/local2"; }))
      << shown().toStdString();
  for (const int rank : {1, 3, 0}) tell(rank);
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return run->history().train_loss().size() == 10 && !charts.reading(); }));
  EXPECT_EQ(shown(), "1/reduced0 1/local0");
  EXPECT_EQ(charts.plot(ChartKind::gradient_norm).model().find("1/reduced0")->points.size(), 10u);
}

TEST(RunCharts, scroll_by_the_wheel_where_there_are_more_than_fit) {
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
        &wheel);  // as from a hand: only those go on to what is around
    qApp->notify(port, &wheel);
    return area->verticalScrollBar()->value();
  };
  EXPECT_EQ(turn(Qt::ControlModifier), 0) << "that zooms";
  EXPECT_GT(turn({}), 0);
}

TEST_F(RunTest, a_chart_without_points_says_why) {
  RunCharts charts;
  charts.resize(900, 700);
  charts.show();
  const auto said = [&](ChartKind kind) {
    charts.plot(kind).refresh();
    return charts.plot(kind).overlay().empty.toStdString();
  };
  EXPECT_EQ(said(ChartKind::rank_bytes), "No points yet: press Run");
  listen();
  const test::SyntheticRun alone{.ranks = 1, .segments = {}};
  auto writer = alone.create(directory().toStdString());
  ASSERT_TRUE(writer.flush());
  const auto run = open();
  charts.set_runs({run.get()});
  EXPECT_EQ(said(ChartKind::rank_bytes), "Waiting for the first points");
  ASSERT_TRUE(alone.append(writer, 0, 5));
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return run->live() && run->history().train_loss().size() == 5 && !charts.reading(); }));
  EXPECT_EQ(said(ChartKind::loss), "");
  EXPECT_EQ(said(ChartKind::rank_bytes), "A single rank sends no data");
  EXPECT_EQ(said(ChartKind::link_bytes), "A single rank sends no data");
  EXPECT_EQ(said(ChartKind::gradient_norm), "Waiting for the first points");
  ASSERT_TRUE(writer.append_json(telemetry::FrameType::result, -1, {{"status", "completed"}}));
  ASSERT_TRUE(writer.close());
  ASSERT_TRUE(QTest::qWaitFor([&] { return run->complete() && !charts.reading(); }));
  EXPECT_EQ(said(ChartKind::gradient_norm), "This run recorded no such values");
}

TEST_F(RunTest, charts_lay_runs_over_each_other_and_let_go_of_a_deleted_one) {
  synthetic_.record(directory().toStdString(), 50);
  auto first = open(), second = open();
  RunCharts charts;
  charts.set_runs({first.get(), second.get()});
  ASSERT_TRUE(QTest::qWaitFor(
      [&] { return first->complete() && second->complete() && !charts.reading(); }));
  const PlotModel& memory = charts.plot(ChartKind::memory).model();
  ASSERT_EQ(memory.series().size(), 8u);  // of each run every rank, in order of arrival
  EXPECT_EQ(memory.find("1/rank0")->style.color, 0);
  EXPECT_EQ(memory.find("2/rank0")->style.color, 1);
  for (const char* line : {"1/rank0", "2/rank0"})
    EXPECT_FALSE(memory.find(line)->style.label.section(" · ", 0, 0).contains(QChar(32)))
        << "what tells them apart is their last word";
  second.reset();
  EXPECT_EQ(charts.plot(ChartKind::memory).model().series().size(),
            4u);  // alone again: rank by rank
}

}  // namespace
}  // namespace trainyard::ui
