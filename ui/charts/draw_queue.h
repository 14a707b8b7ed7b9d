// SPDX-License-Identifier: GPL-3.0-or-later
// Charts take turns to be drawn, in the order they asked: one of them in a turn of the event loop, and then a breath for whatever else
// waits, so that many charts together never hold up the window.
#pragma once

#include <QObject>
#include <QPointer>
#include <QTimer>
#include <deque>

namespace trainyard::ui {

class PlotView;

class DrawQueue : public QObject {
  Q_OBJECT
 public:
  static DrawQueue& instance();
  void ask(PlotView* plot);  // who waits already keeps its place

 private:
  DrawQueue();
  void draw_next();

  std::deque<QPointer<PlotView>> waiting_;
  QTimer turn_;
};

}  // namespace trainyard::ui
