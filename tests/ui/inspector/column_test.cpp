// SPDX-License-Identifier: GPL-3.0-or-later
// Texts above the inspector's fields are completely visible, whatever their length.
#include "ui/inspector/column.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QScrollBar>
#include <QTest>
#include <QVBoxLayout>

namespace trainyard::ui::test {
namespace {

TEST(Head, that_was_too_low_for_a_while_needs_no_scroll_bar_when_there_is_room_again) {
  QWidget window;
  auto* column = new QVBoxLayout(&window);
  auto* content = new QWidget(&window);
  auto* text = new QLabel(content);
  text->setWordWrap(true);
  (new QVBoxLayout(content))->addWidget(text);
  auto* head = new Head(content, &window);
  column->addWidget(head);
  column->addWidget(new QWidget(&window), 1);
  window.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&window));
  const QScrollBar& bar = *head->verticalScrollBar();
  for (int words = 30; words < 60; ++words) {  // in lines of a dozen or so, to end one at any width
    window.resize(300, 90);
    text->setText(QString("of steps ").repeated(words));
    ASSERT_TRUE(QTest::qWaitFor([&] { return bar.maximum() > 0; })) << words;
    window.resize(300, 900);
    EXPECT_TRUE(QTest::qWaitFor([&] { return bar.maximum() == 0 && !bar.isVisible(); }, 500))
        << words;
  }
}

}  // namespace
}  // namespace trainyard::ui::test
