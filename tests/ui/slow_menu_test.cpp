// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/slow_menu.h"

#include <gtest/gtest.h>

#include <QMenu>
#include <optional>

namespace trainyard::ui {
namespace {

class SlowMenu : public testing::Test {
 protected:
  void offer(const session::Slow& now) {
    add_slow_menu(menu_, now, [this](const session::Slow& slow) { asked_ = slow; });
  }
  QAction& action(const char* name) { return *menu_.findChild<QAction*>(name); }

  QMenu menu_;
  std::optional<session::Slow> asked_;
};

TEST_F(SlowMenu, a_choice_asks_for_that_rank_and_keeps_its_jitter) {
  offer({2, 1, 0.5});
  action("slow_5").trigger();
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->rank, 2);
  EXPECT_EQ(asked_->slow_down, 5);
  EXPECT_EQ(asked_->jitter, 0.5);
}

TEST_F(SlowMenu, what_holds_now_is_ticked) {
  offer({0, 10, 0});
  EXPECT_TRUE(action("slow_10").isChecked());
  EXPECT_FALSE(action("slow_1").isChecked());
  EXPECT_FALSE(action("jitter").isChecked());
}

TEST_F(SlowMenu, jitter_is_switched_on_and_off_by_itself) {
  offer({0, 10, 0});
  action("jitter").trigger();
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->slow_down, 10);
  EXPECT_GT(asked_->jitter, 0);
}

}  // namespace
}  // namespace trainyard::ui
