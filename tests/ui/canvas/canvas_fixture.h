// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas on a visible view, with simulated mouse, keys, drops and actions.
#pragma once

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QDropEvent>
#include <QMimeData>
#include <QtTest/QTest>

#include "ui/canvas/actions.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

class Canvas : public ::testing::Test {
 protected:
  Canvas() : view_(document_, selection_), actions_(document_, selection_, view_) {
    Theme::instance().apply(Theme::Kind::light);
    QGuiApplication::clipboard()->clear();
    view_.resize(1200, 800);
    view_.show();
    view_.activateWindow();
    view_.setFocus();
    EXPECT_TRUE(QTest::qWaitForWindowActive(&view_)) << "shortcuts need an active window";
  }

  const topology::Topology& drawn() const { return document_.experiment().topology; }
  std::vector<std::string> names() const {
    const auto all = object_names(drawn());
    return {all.begin(), all.end()};
  }
  void act(const char* name) { actions_.action(name)->trigger(); }
  QPoint pixel(QPointF scene) const { return view_.mapFromScene(scene); }
  QPoint pixel(const std::string& name) {
    return pixel(view_.topology_scene().layout().rect_of(name).center());
  }
  QPoint corner(const std::string& name) {
    return pixel(view_.topology_scene().layout().rect_of(name).topLeft() + QPointF(6, 6));
  }

  void click(QPoint at, Qt::KeyboardModifiers modifiers = {}) {
    QTest::mouseClick(view_.viewport(), Qt::LeftButton, modifiers, at);
  }
  void move_to(QPoint at) {
    QMouseEvent event(QEvent::MouseMove, at, view_.viewport()->mapToGlobal(at),
                      pressed_ ? Qt::LeftButton : Qt::NoButton,
                      pressed_ ? Qt::LeftButton : Qt::NoButton, {});
    QApplication::sendEvent(view_.viewport(), &event);
  }
  void press(QPoint at) {
    QTest::mousePress(view_.viewport(), Qt::LeftButton, {}, at);
    pressed_ = true;
  }
  void release(QPoint at) {
    QTest::mouseRelease(view_.viewport(), Qt::LeftButton, {}, at);
    pressed_ = false;
  }
  void drag(QPoint from, QPoint to) {
    press(from);
    for (int step = 1; step <= 10; ++step) move_to(from + (to - from) * step / 10);
    release(to);
  }
  void key(int key, Qt::KeyboardModifiers modifiers = {}) {
    QTest::keyClick(&view_, static_cast<Qt::Key>(key), modifiers);
  }
  void drop(PaletteKind kind, QPoint at) {
    const auto data = to_mime(kind);
    QDragEnterEvent enter(at, Qt::CopyAction, data.get(), Qt::LeftButton, {});
    QApplication::sendEvent(view_.viewport(), &enter);
    ASSERT_TRUE(enter.isAccepted());
    QDropEvent event(at, Qt::CopyAction, data.get(), Qt::LeftButton, {});
    QApplication::sendEvent(view_.viewport(), &event);
  }
  // Two hosts, two devices on the first and one on the second, far apart.
  void draw_two_hosts() {
    drop(PaletteKind::cpu, {200, 200});
    drop(PaletteKind::cpu, pixel("host1"));
    drop(PaletteKind::gpu, {900, 200});
  }

  // Returns the number of pixels of this color in the area of an item.
  int pixels_of(const QColor& color, const std::string& name) {
    const QRect where =
        view_.mapFromScene(view_.topology_scene().layout().rect_of(name)).boundingRect();
    const QImage seen = view_.viewport()->grab(where).toImage();
    int count = 0;
    for (int y = 0; y < seen.height(); ++y)
      for (int x = 0; x < seen.width(); ++x) count += seen.pixelColor(x, y) == color ? 1 : 0;
    return count;
  }
  void expect_nothing_overlaps() {
    const Layout& layout = view_.topology_scene().layout();
    for (const NodeBox& a : layout.nodes)
      for (const NodeBox& b : layout.nodes)
        EXPECT_TRUE(a.name == b.name || !a.rect.intersects(b.rect)) << a.name << " and " << b.name;
  }

  Document document_;
  Selection selection_;
  TopologyView view_;
  CanvasActions actions_;
  bool pressed_ = false;
};

}  // namespace trainyard::ui
