// SPDX-License-Identifier: GPL-3.0-or-later
// A visible inspector of a small experiment, and simulated typing.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QLineEdit>
#include <QTest>

#include "ui/inspector/inspector.h"

namespace trainyard::ui {

inline experiment::Experiment sample() {
  experiment::Experiment experiment;
  experiment.name = "sample";
  topology::Host host{.name = "host0", .address = {}, .devices = {}};
  for (const char* name : {"cpu0", "cpu1"}) host.devices.push_back({.name = name});
  experiment.topology.hosts.push_back(host);
  return experiment;
}

class InspectorTest : public testing::Test {
 protected:
  InspectorTest() {
    document_.reset(sample());
    inspector_.resize(360, 900);
    inspector_.show();
    QApplication::setActiveWindow(&inspector_);
    EXPECT_TRUE(QTest::qWaitForWindowActive(&inspector_));
  }
  template <class Widget>
  static Widget* inner(FieldEditor* editor) {
    return qobject_cast<Widget*>(editor->focusProxy());
  }
  static void type(FieldEditor* editor, const QString& text) {
    auto* box = editor->focusProxy();
    box->setFocus();
    QTest::keyClick(box, Qt::Key_A, Qt::ControlModifier);
    QTest::keyClicks(box, text);
  }
  static QString shown(FieldEditor* editor) { return editor->findChild<QLineEdit*>()->text(); }
  void wait_for_problems(int count) {
    ASSERT_TRUE(QTest::qWaitFor([&] {
      return static_cast<int>(document_.problems().size()) == count;
    })) << base::to_string(document_.problems());
  }
  const experiment::Experiment& now() const { return document_.experiment(); }

  Document document_;
  Selection selection_;
  Inspector inspector_{document_, selection_};
};

}  // namespace trainyard::ui
