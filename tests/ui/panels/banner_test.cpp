// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/banner.h"

#include <gtest/gtest.h>

#include <QClipboard>
#include <QGuiApplication>
#include <QLabel>
#include <QPushButton>
#include <QTest>
#include <QToolButton>

namespace trainyard::ui {
namespace {

class BannerTest : public testing::Test {
 protected:
  BannerTest() { banner_.resize(1000, 40); }
  int height_for(int width) {
    banner_.resize(width, 40);
    QCoreApplication::processEvents();  // a requested layout
    return banner_.heightForWidth(width);
  }
  QToolButton& button(const char* text) {
    for (QToolButton* one : banner_.findChildren<QToolButton*>())
      if (one->text() == text || one->accessibleName() == text) return *one;
    throw std::runtime_error(text);
  }
  const QLabel& shown_text() const {
    return *banner_.findChildren<QLabel*>().at(1);
  }  // after the title
  Banner banner_;
};

TEST_F(BannerTest, is_one_line_if_the_width_suffices) {
  banner_.show_text(Banner::Kind::information, "A run is still running", "It was left running.");
  banner_.offer("Attach", [] { return true; });
  EXPECT_TRUE(banner_.in_one_line());
  const int one_line = height_for(1000);
  EXPECT_LT(one_line, 3 * banner_.fontMetrics().height());
  EXPECT_GT(height_for(260), one_line);
  EXPECT_FALSE(banner_.in_one_line());
  height_for(1000);
  EXPECT_TRUE(banner_.in_one_line());
}

TEST_F(BannerTest, shows_a_few_lines_until_expanded_and_copies_all) {
  QStringList lines;
  for (int i = 1; i <= 30; ++i) lines << QString("line %1").arg(i);
  banner_.show_text(Banner::Kind::error, "The run failed", lines.join("\n"));
  const int few = height_for(1000);
  EXPECT_LT(few, 9 * banner_.fontMetrics().height());
  button("Copy").click();
  EXPECT_TRUE(QGuiApplication::clipboard()->text().endsWith("line 30"));
  button("More").click();
  EXPECT_GT(height_for(1000), 25 * banner_.fontMetrics().height());
  banner_.show_text(Banner::Kind::error, "The run failed", "once");
  EXPECT_TRUE(button("More").isHidden());
}

TEST_F(BannerTest, counts_wrapped_lines_of_a_long_text) {
  QStringList words;
  for (int i = 1; i <= 120; ++i) words << QString("word%1").arg(i);
  for (const QString& text :
       {words.join(" "), "rank 3: " + words.join(" ") + "\nWhat to do: " + words.join(" "),
        "one\ntwo\n" + words.join(" ")}) {
    banner_.show_text(Banner::Kind::error, "The run failed", text);
    for (const int width : {500, 640, 781, 1000}) {
      height_for(width);
      const QLabel& shown = shown_text();
      EXPECT_FALSE(button("More").isHidden()) << width;
      EXPECT_TRUE(shown.text().endsWith("…")) << width;
      EXPECT_LT(shown.heightForWidth(shown.width()), 5 * shown.fontMetrics().lineSpacing())
          << width;
      EXPECT_GT(shown.heightForWidth(shown.width()), 3 * shown.fontMetrics().lineSpacing())
          << width << ": no more is hidden than must be";
    }
    button("More").click();
    height_for(640);
    EXPECT_EQ(shown_text().text(), text);
  }
  height_for(30000);
  EXPECT_TRUE(button("More").isHidden()) << "the text fits";
}

TEST_F(BannerTest, executed_offer_closes_it) {
  bool done = false;
  banner_.show_text(Banner::Kind::warning, "Unsaved work found", "");
  banner_.offer("Recover", [&] { return done; });
  banner_.findChild<QPushButton*>()->click();
  EXPECT_FALSE(banner_.isHidden()) << "the dialog was canceled";
  done = true;
  banner_.findChild<QPushButton*>()->click();
  EXPECT_TRUE(banner_.isHidden());
}

TEST_F(BannerTest, offer_does_not_close_a_message_that_it_shows) {
  banner_.show_text(Banner::Kind::information, "A run is still running", "");
  banner_.offer("Attach", [&] {
    banner_.show_text(Banner::Kind::information, "This run trained a different experiment", "");
    return true;
  });
  banner_.findChild<QPushButton*>()->click();
  EXPECT_FALSE(banner_.isHidden());
}

TEST_F(BannerTest, closes_when_its_condition_ends) {
  bool over = false;
  banner_.show_text(Banner::Kind::information, "There is nothing to train on yet", "");
  banner_.stays_until([&] { return over; });
  banner_.recheck();
  EXPECT_FALSE(banner_.isHidden());
  over = true;
  banner_.recheck();
  EXPECT_TRUE(banner_.isHidden());
  banner_.show_text(Banner::Kind::error, "Another thing", "");
  banner_.recheck();
  EXPECT_FALSE(banner_.isHidden()) << "the message belongs to the previous text";
}

}  // namespace
}  // namespace trainyard::ui
