// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/slow_menu.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QDoubleSpinBox>
#include <QLocale>
#include <QMenu>
#include <QTest>
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

TEST_F(SlowMenu, choice_requests_a_slowdown_and_keeps_the_jitter) {
  offer({2, 1, 0.5});
  action("slow_5").trigger();
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->rank, 2);
  EXPECT_EQ(asked_->slow_down, 5);
  EXPECT_EQ(asked_->jitter, 0.5);
}

TEST_F(SlowMenu, current_slowdown_is_checked_or_shown_as_a_number) {
  offer({0, 10, 0});
  EXPECT_TRUE(action("slow_10").isChecked());
  EXPECT_FALSE(action("slow_1").isChecked());
  EXPECT_TRUE(action("jitter_0").isChecked());
  menu_.clear();
  QMenu other;
  add_slow_menu(other, {0, 3, 0.2}, [](const session::Slow&) {});
  for (const QAction* one : other.findChild<QMenu*>("slow")->actions())
    EXPECT_FALSE(one->isChecked()) << one->text().toStdString();
  EXPECT_EQ(other.findChild<QDoubleSpinBox*>("factor")->value(), 3);
  EXPECT_EQ(other.findChild<QDoubleSpinBox*>("jitter")->value(), 0.2);
}

TEST_F(SlowMenu, any_factor_and_jitter_can_be_requested) {
  offer({1, 1, 0});
  auto& factor = *menu_.findChild<QDoubleSpinBox*>("factor");
  factor.selectAll();
  QTest::keyClicks(&factor, QLocale().toString(3.5));
  EXPECT_FALSE(asked_) << "before Enter";
  QTest::keyClick(&factor, Qt::Key_Return);
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->slow_down, 3.5);
  menu_.findChild<QDoubleSpinBox*>("jitter")->stepUp();
  EXPECT_EQ(asked_->slow_down, 3.5) << "still";
  EXPECT_DOUBLE_EQ(asked_->jitter, 0.1);
  factor.setValue(0.1);
  EXPECT_EQ(asked_->slow_down, 1) << "factors below 1 are refused";
}

TEST_F(SlowMenu, number_field_is_entered_and_left_by_keys) {
  offer({1, 1, 0});
  QMenu& choices = *menu_.findChild<QMenu*>("slow");
  auto& number = *choices.findChild<QDoubleSpinBox*>("factor");
  const auto reach = [&] {
    choices.popup({});
    EXPECT_TRUE(QTest::qWaitForWindowExposed(&choices));
    for (int line = 0; line < 5; ++line) QTest::keyClick(&choices, Qt::Key_Down);
    EXPECT_TRUE(number.hasFocus()) << "after four choices";
  };
  reach();
  QTest::keyClick(&number, Qt::Key_Up);
  EXPECT_EQ(choices.activeAction(), &action("slow_10"));
  EXPECT_FALSE(asked_) << "the value is unchanged";
  choices.hide();
  reach();
  number.selectAll();
  QTest::keyClicks(&number, QLocale().toString(2.5));
  QTest::keyClick(&number, Qt::Key_Return);
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->slow_down, 2.5);
  EXPECT_FALSE(action("slow_1").isChecked()) << "no more";
  number.setValue(5);
  EXPECT_TRUE(action("slow_5").isChecked());
  choices.hide();
}

TEST_F(SlowMenu, jitter_is_toggled_independently) {
  offer({0, 10, 0});
  action("jitter_0.5").trigger();
  ASSERT_TRUE(asked_);
  EXPECT_EQ(asked_->slow_down, 10);
  EXPECT_EQ(asked_->jitter, 0.5);
  action("jitter_0").trigger();
  EXPECT_EQ(asked_->jitter, 0);
}

}  // namespace
}  // namespace trainyard::ui
