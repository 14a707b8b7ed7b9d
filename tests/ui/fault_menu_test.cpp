// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fault_menu.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QContextMenuEvent>
#include <QMenu>
#include <QTimer>

#include "core/session/checkpoint/checkpoint.h"
#include "tests/ui/has_all.h"
#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

using session::Command;

class FaultMenu : public testing::Test {
 protected:
  void offer(const RankFaults& offered) {
    menu_.clear();
    add_fault_menu(menu_, 2, offered, [this](Command command) { asked_ = command; });
  }
  QAction& action(const char* name) { return *menu_.findChild<QAction*>(name); }

  QMenu menu_;
  std::optional<Command> asked_;
};

TEST_F(FaultMenu, requests_the_selected_fault) {
  offer({.kill = true,
         .stall = true,
         .wake = true,
         .restart = true,
         .spared = true,
         .outcome = "goes on"});
  const std::pair<const char*, Command> all[] = {{"kill", Command::kill},
                                                 {"stall", Command::stall},
                                                 {"wake", Command::wake},
                                                 {"restart", Command::restart}};
  for (const auto& [name, command] : all) {
    action(name).trigger();
    EXPECT_EQ(asked_, command) << name;
  }
}

TEST_F(FaultMenu, enables_available_faults_and_states_their_outcome) {
  offer({.kill = true, .wake = true, .outcome = "ends the run"});
  EXPECT_TRUE(action("kill").isEnabled());
  EXPECT_TRUE(action("wake").isEnabled());
  EXPECT_FALSE(action("stall").isEnabled());
  EXPECT_FALSE(action("restart").isEnabled());
  EXPECT_TRUE(action("kill").toolTip().endsWith(": ends the run"));
  EXPECT_TRUE(action("stall").toolTip().endsWith(": ends the run"));
  EXPECT_TRUE(menu_.findChild<QMenu*>("faults")->toolTipsVisible());
}

TEST(LinkMenu, requests_the_selected_fault_and_offers_only_changes) {
  QMenu menu;
  std::optional<double> asked;
  add_link_menu(menu, {.link = 0, .possible = true, .why_not = {}, .part = 0.1},
                [&](double part) { asked = part; });
  const auto action = [&](const char* name) { return menu.findChild<QAction*>(name); };
  for (const auto& [name, part] : {std::pair("cut", 0.0), std::pair("slow_50", 0.5),
                                   std::pair("slow_1", 0.01), std::pair("restore", 1.0)}) {
    ASSERT_TRUE(action(name)->isEnabled()) << name;
    action(name)->trigger();
    EXPECT_EQ(asked, part) << name;
  }
  EXPECT_FALSE(action("slow_10")->isEnabled()) << "the link already has this speed";
  QMenu other;
  add_link_menu(other, {.link = 0, .possible = false, .why_not = "links are drawn", .part = 1},
                [](double) {});
  EXPECT_FALSE(other.findChild<QAction*>("cut")->isEnabled());
  EXPECT_THAT(other.findChild<QAction*>("cut")->toolTip(), HasAll("links are drawn"));
}

TEST(LinkMenu, faults_require_an_imposed_link_and_a_live_run) {
  experiment::Experiment e;
  e.topology.links = {{"a", "b"}, {"b", "c"}};
  session::Status status;
  status.state = session::RunState::running;
  EXPECT_FALSE(faults_of_link(e, status, -1));
  EXPECT_FALSE(faults_of_link(e, status, 1)->possible);
  EXPECT_TRUE(faults_of_link(e, status, 1)->why_not.contains("imposed"));
  e.run.links = experiment::LinkSpeed::imposed;
  status.links = {{1, 0.25}};
  EXPECT_EQ(faults_of_link(e, status, 1)->link, 1);
  EXPECT_TRUE(faults_of_link(e, status, 1)->possible);
  EXPECT_EQ(faults_of_link(e, status, 1)->part, 0.25);
  EXPECT_EQ(faults_of_link(e, status, 0)->part, 1);
  status.state = session::RunState::finished;
  EXPECT_FALSE(faults_of_link(e, status, 0)->possible);
}

// The context menu of a device in the window, with real processes.
class RunFaults : public RealWindow {
 protected:
  void train(const char* example,
             const std::vector<std::pair<const char*, const char*>>& values = {},
             const char* checkpoint_every_steps = "0") {
    ASSERT_TRUE(window_->open(QString(TRAINYARD_SOURCE_DIR "/resources/experiments/") + example));
    for (const auto& [path, value] : values)
      ASSERT_TRUE(window_->document().set_value(path, value).empty());
    type("run", "checkpoint_every_steps", checkpoint_every_steps);
    type("training", "steps", "1000000");
    press("Run");
    ASSERT_TRUE(wait([&] {
      return state() == session::RunState::running && step() > 20 &&
             canvas().topology_scene().overlay();
    }));
  }
  // Chooses an action of the device's context menu and confirms any question with yes. Returns
  // false if the action does not exist or is disabled.
  bool choose_at(QPoint at, const char* name) {
    bool chosen = false;
    QTimer menu;  // the menu blocks its caller
    QObject::connect(&menu, &QTimer::timeout, [&] {
      QWidget* popup = QApplication::activePopupWidget();
      auto* action = popup ? popup->findChild<QAction*>(name) : nullptr;
      if (action && action->isEnabled()) action->trigger(), chosen = true;
      if (popup) popup->close();
    });
    menu.start(10);
    QContextMenuEvent asked(QContextMenuEvent::Mouse, at, canvas().viewport()->mapToGlobal(at));
    QApplication::sendEvent(canvas().viewport(), &asked);
    return chosen;
  }
  bool choose_for(const std::string& device, const char* name) {
    return choose_at(pixel(device), name);
  }
  // Returns the center of the first link.
  QPoint on_link() {
    return canvas().mapFromScene(
        canvas().topology_scene().layout().links.front().path.pointAtPercent(0.5));
  }
  std::optional<double> part_of_first_link() {
    const auto& overlay = canvas().topology_scene().overlay();
    if (!overlay) return std::nullopt;
    return overlay->link_fractions.empty() ? 1 : overlay->link_fractions.begin()->second;
  }
  Absence absence(const char* device) {
    const auto& overlay = canvas().topology_scene().overlay();
    return overlay && overlay->devices.contains(device) ? overlay->devices.at(device).absence
                                                        : Absence::none;
  }
  bool becomes(const char* device, Absence wanted) {
    return wait([&] { return absence(device) == wanted; });
  }
};

TEST_F(RunFaults, kill_restart_stall_and_wake_a_worker_of_servers) {
  train("four_workers_parameter_server_digits.json");
  EXPECT_FALSE(choose_for("cpu1", "restart")) << "the rank is present";
  EXPECT_FALSE(choose_for("cpu1", "wake"));
  ASSERT_TRUE(choose_for("cpu1", "kill"));
  ASSERT_TRUE(becomes("cpu1", Absence::lost));
  EXPECT_EQ(confirmed_, 0) << "the other workers continue";
  EXPECT_FALSE(choose_for("cpu1", "kill")) << "the rank is lost";
  ASSERT_TRUE(choose_for("cpu1", "restart"));
  ASSERT_TRUE(becomes("cpu1", Absence::none));
  ASSERT_TRUE(wait([&] { return choose_for("cpu2", "stall"); }));
  ASSERT_TRUE(becomes("cpu2", Absence::stalled));
  ASSERT_TRUE(choose_for("cpu2", "wake"));
  ASSERT_TRUE(becomes("cpu2", Absence::none));
  EXPECT_TRUE(window_->runs().live());
  std::string kinds;
  ASSERT_TRUE(wait([&] { return window_->runs().current()->history().faults().size() >= 5; }));
  for (const telemetry::Fault& fault : window_->runs().current()->history().faults())
    kinds += fault.kind + std::to_string(fault.rank) + " ";
  EXPECT_EQ(kinds, "killed1 lost1 back1 stalled2 awake2 ");
}

TEST_F(RunFaults, require_confirmation_if_they_end_the_run) {
  train("four_devices_mirrored_digits.json");
  confirm_ = false;
  ASSERT_TRUE(choose_for("cpu2", "kill"));
  EXPECT_EQ(confirmed_, 1);
  EXPECT_THAT(question_, HasAll("rank 2 (worker)", "no checkpoint"));
  const std::int64_t before = step();
  ASSERT_TRUE(wait([&] { return step() > before + 5; })) << "the fault was not confirmed";
  confirm_ = true;
  ASSERT_TRUE(choose_for("cpu2", "kill"));
  EXPECT_EQ(confirmed_, 2);
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  EXPECT_EQ(window_->runs().current()->history().result()["problem"]["where"],
            "rank 2 (host0/cpu2)");
}

TEST_F(RunFaults, name_the_checkpoint_to_resume_from_if_a_server_fails) {
  confirm_ = false;
  train("four_workers_parameter_server_digits.json", {}, "10");
  ASSERT_TRUE(wait([&] {
    return session::committed_step(window_->runs().current()->directory().toStdString() +
                                   "/checkpoints")
        .has_value();
  }));
  ASSERT_TRUE(choose_for("server", "kill"));
  EXPECT_THAT(question_, HasAll("rank 4 (parameter server)", "checkpoint of step "));
  EXPECT_TRUE(window_->runs().live());
}

TEST_F(RunFaults, cut_and_restore_a_link_on_the_drawing) {
  train("four_hosts_ring_digits.json", {{"run.links", "imposed"}});
  ASSERT_TRUE(choose_at(on_link(), "cut"));
  ASSERT_TRUE(wait([&] { return part_of_first_link() == 0.0; }));
  EXPECT_FALSE(choose_at(on_link(), "cut")) << "it is";
  ASSERT_TRUE(choose_at(on_link(), "restore"));
  ASSERT_TRUE(wait([&] { return part_of_first_link() == 1.0; }));
  const std::int64_t before = step();
  ASSERT_TRUE(wait([&] { return step() > before + 5; }));
}

}  // namespace
}  // namespace trainyard::ui::test
