// SPDX-License-Identifier: GPL-3.0-or-later
// Texts above the fields of the inspector are completely visible at any length.
#include "ui/inspector/column.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QLabel>
#include <QScrollBar>
#include <QTest>
#include <QVBoxLayout>

namespace trainyard::ui::test {
namespace {

TEST(Head, has_no_scroll_bar_after_its_height_is_restored) {
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
