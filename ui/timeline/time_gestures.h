// SPDX-License-Identifier: GPL-3.0-or-later
// A view of time that is zoomed, panned and pointed into, as all such views are: drag to zoom into
// a box, Shift and drag or the middle button to pan, Ctrl and wheel or + and - to zoom, Shift and
// wheel or Shift and arrows to pan, double click or 0 to see everything, a plain wheel to scroll
// through the ranks. Who paints it says where time runs, and what a click, a key or the pointer
// means there.
#pragma once

#include <QAbstractScrollArea>
#include <QPointF>

#include "ui/timeline/timeline_colours.h"
#include "ui/timeline/timeline_geometry.h"
#include "ui/timeline/timeline_words.h"

namespace trainyard::ui {

class TimeGestures : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimeGestures(QWidget* parent = nullptr);

  const TimeRange& view() const { return view_; }
  virtual void show_range(const TimeRange& range) = 0;  // that somebody chose
  virtual void home() = 0;                              // everything
  virtual void zoom_at(double fraction, double factor) {
    show_range(zoomed(view_, fraction, factor));
  }
  void pan(double fraction) { show_range(panned(view_, fraction)); }
  const SpanWords& reading() const { return reading_; }  // what is said at the pointer

 signals:
  void selection_changed();
  void plan_wanted();  // of what is selected
  void painted();

 protected:
  virtual bool steers() const { return true; }  // else there is nothing to be moved in
  virtual QRect time_body() const = 0;          // where time runs
  virtual QRect box_body() const = 0;           // where a box may be drawn
  virtual void restyle() = 0;
  virtual void read_at(const QPointF& at) = 0;
  virtual void read_nothing() = 0;
  virtual void click(const QPointF& at) = 0;
  enum class Under { nothing, another, selected };
  virtual Under under(const QPointF& at) const = 0;
  virtual bool act_by_key(const QKeyEvent& event) = 0;  // beside what all such views do
  virtual bool walk_by_key(int key) = 0;                // without Shift or Ctrl

  double fraction(const QPointF& at) const;  // of the view
  void paint_focus(QPainter& painter) const;
  void paint_band(QPainter& painter) const;
  void paint_what_is_read(QPainter& painter) const;

  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

  TimelineColours colours_;
  TimeRange view_;
  SpanWords reading_;
  QPointF pointer_;

 private:
  enum class Drag { none, box, pan };
  void draw_band(const QPointF& to);
  bool steer_by_key(const QKeyEvent& event);

  QPointF pressed_, last_;
  QRectF band_;
  Drag drag_ = Drag::none;
};

}  // namespace trainyard::ui
