// SPDX-License-Identifier: GPL-3.0-or-later
// A rank that dies is marked on the drawing, and stays so until another run.
#include <signal.h>

#include <QTest>

#include "tests/ui/real_window.h"

namespace trainyard::ui::test {
namespace {

using FailedRank = RealWindow;

TEST_F(FailedRank, the_device_of_a_killed_rank_is_marked_until_the_next_run) {
  ASSERT_TRUE(window_->open(TRAINYARD_SOURCE_DIR "/resources/experiments/four_devices_mirrored_digits.json"));
  type("training", "steps", "100000");
  press("Run");
  ASSERT_TRUE(wait([&] { return state() == session::RunState::running && step() > 5; }));
  ASSERT_EQ(::kill(static_cast<pid_t>(window_->runs().current()->status()->ranks[2].process), SIGKILL), 0);
  ASSERT_TRUE(wait([&] { return !window_->runs().live(); }));
  const auto failed = [&] {
    const auto& overlay = canvas().topology_scene().overlay();
    return overlay && overlay->devices.contains("cpu2") && overlay->devices.at("cpu2").failed;
  };
  ASSERT_TRUE(wait(failed));
  QTest::qWait(500);  // nothing that is still on its way takes it back
  EXPECT_TRUE(failed());
  EXPECT_EQ(canvas().topology_scene().overlay()->devices.size(), 1u) << "the others were told to stop";
  press("Run");
  ASSERT_TRUE(wait([&] { return window_->runs().live() && state() == session::RunState::running; }));
  EXPECT_FALSE(failed());
}

}  // namespace
}  // namespace trainyard::ui::test
