// SPDX-License-Identifier: GPL-3.0-or-later
// A rank that dies is marked on the drawing until another run starts; a coordinator that dies is
// reported.
#include <signal.h>

#include <QFile>
#include <QPushButton>
#include <QTest>

#include "core/session/checkpoint/checkpoint.h"
#include "tests/ui/has_all.h"
#include "tests/ui/real_window.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui::test {
namespace {

using FailedRank = RealWindow;

TEST_F(FailedRank, device_of_a_killed_rank_is_marked_until_the_next_run) {
  ASSERT_TRUE(window_->open(TRAINYARD_SOURCE_DIR
                            "/resources/experiments/four_devices_mirrored_digits.json"));
  type("training", "steps", "100000");
  press("Run");
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running && step() > 5; }));
  ASSERT_EQ(
      ::kill(static_cast<pid_t>(window_->runs().current()->status()->ranks[2].process), SIGKILL),
      0);
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  const auto failed = [&] {
    const auto& overlay = canvas().topology_scene().overlay();
    return overlay && overlay->devices.contains("cpu2") && overlay->devices.at("cpu2").failed;
  };
  ASSERT_TRUE(wait(failed));
  QTest::qWait(500);  // messages in flight do not reset the mark
  EXPECT_TRUE(failed());
  EXPECT_EQ(canvas().topology_scene().overlay()->devices.size(), 1u)
      << "the other ranks were stopped";
  press("Run");
  ASSERT_TRUE(
      wait([&] { return window_->runs().live() && state() == session::RunState::running; }));
  EXPECT_FALSE(failed());
}

// The servers' checkpoint is complete: one click continues the same experiment from it.
TEST_F(FailedRank, run_with_a_failed_server_is_resumed_from_its_checkpoint) {
  ASSERT_TRUE(window_->open(TRAINYARD_SOURCE_DIR
                            "/resources/experiments/four_workers_parameter_server_digits.json"));
  ASSERT_TRUE(window_->document().set_value("run.checkpoint_every_steps", 20).empty());
  type("training", "steps", "100000");
  press("Run");
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running && step() > 60; }));
  ASSERT_TRUE(wait([&] {
    return session::committed_step(window_->runs().current()->directory().toStdString() +
                                   "/checkpoints")
        .has_value();
  }));
  ASSERT_EQ(
      ::kill(static_cast<pid_t>(window_->runs().current()->status()->ranks[4].process), SIGKILL),
      0);
  ASSERT_TRUE(wait([&] {
    return !window_->runs().live() && window_->runs().current()->history().result().is_object();
  }));
  const std::int64_t committed =
      window_->runs().current()->history().result().value("committed_step", std::int64_t{-1});
  ASSERT_GT(committed, 0);
  QPushButton* go_on = nullptr;
  ASSERT_TRUE(wait([&] {
    for (QPushButton* button : window_->center().errors().findChildren<QPushButton*>())
      if (button->isVisible() && button->text().startsWith("Resume from step")) go_on = button;
    return go_on != nullptr;
  }));
  EXPECT_EQ(go_on->text().toStdString(), "Resume from step " + std::to_string(committed));
  const QString before = window_->runs().current()->directory();
  go_on->click();
  ASSERT_TRUE(wait([&] {
    return window_->runs().live() && window_->runs().current()->directory() != before &&
           step() > committed + 5;
  }));
  EXPECT_EQ(window_->runs().current()->history().header().value("first_step", -1), committed);
  EXPECT_TRUE(window_->center().errors().isHidden());
}

// The coordinator starts the ranks itself.
pid_t parent_of(std::int64_t process) {
  QFile status(QString("/proc/%1/status").arg(process));
  if (!status.open(QIODevice::ReadOnly)) return 0;
  for (const QByteArray& line : status.readAll().split('\n'))
    if (line.startsWith("PPid:")) return line.mid(5).trimmed().toInt();
  return 0;
}

TEST_F(FailedRank, killed_coordinator_is_reported_with_the_recorded_steps) {
  ASSERT_TRUE(window_->open(TRAINYARD_SOURCE_DIR
                            "/resources/experiments/four_devices_mirrored_digits.json"));
  type("training", "steps", "100000");
  press("Run");
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running && step() > 5; }));
  const pid_t coordinator = parent_of(window_->runs().current()->status()->ranks[0].process);
  ASSERT_GT(coordinator, 1);
  ASSERT_NE(coordinator, ::getpid());
  ASSERT_EQ(::kill(coordinator, SIGKILL), 0);
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  const QString shown_text = window_->center().errors().text();
  const auto steps =
      static_cast<std::int64_t>(window_->runs().current()->history().train_loss().size());
  EXPECT_THAT(shown_text, HasAll("ended unexpectedly", grouped(steps).toStdString() + " steps"));
  EXPECT_FALSE(shown_text.contains("of 100,000") || shown_text.contains("starting"))
      << "the progress is stated once";
  auto* show = window_->center().errors().findChild<QPushButton*>();
  ASSERT_EQ(show->text(), "Show log");
  show->click();
  EXPECT_TRUE(wait([&] { return !window_->panels().log.visibleRegion().isEmpty(); }));
  EXPECT_TRUE(window_->controls().run_action().isEnabled());
}

}  // namespace
}  // namespace trainyard::ui::test
