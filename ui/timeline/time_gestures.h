// SPDX-License-Identifier: GPL-3.0-or-later
// Base class of views with a time axis. It has zoom, pan and a read-out. Dragging a box zooms into
// it. Shift and drag, or the middle button, pans. Ctrl and wheel, + and - zoom. Shift and wheel, or
// Shift and arrows, pan. Double-click or 0 shows everything. The wheel alone scrolls through ranks.
// Subclasses paint, map time to pixels, and handle clicks, other keys and the pointer.
#pragma once

#include <QAbstractScrollArea>
#include <QPointF>

#include "ui/timeline/span_text.h"
#include "ui/timeline/timeline_colors.h"
#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

class TimeView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimeView(QWidget* parent = nullptr);

  const TimeRange& view() const { return view_; }
  virtual void show_range(const TimeRange& range) = 0;  // shows a range that the user chose
  virtual void home() = 0;                              // shows everything
  virtual void zoom_at(double fraction, double factor) {
    show_range(zoomed(view_, fraction, factor));
  }
  void pan(double fraction) { show_range(panned(view_, fraction)); }
  const SpanText& reading() const { return reading_; }  // read-out at the pointer

 signals:
  void selection_changed();
  void plan_requested();  // the user requested the plan for the selection
  void painted();

 protected:
  virtual bool steers() const { return true; }  // false if there is no content to navigate
  virtual QRect time_body() const = 0;          // area of the time axis
  virtual QRect box_body() const = 0;           // area in which a box may be drawn
  virtual void restyle() = 0;
  virtual void read_at(const QPointF& at) = 0;
  virtual void clear_readout() = 0;
  virtual void click(const QPointF& at) = 0;
  enum class Under { nothing, another, selected };
  virtual Under under(const QPointF& at) const = 0;
  // Handles a key that is specific to the subclass. Returns true if it did.
  virtual bool act_by_key(const QKeyEvent& event) = 0;
  virtual bool navigate_by_key(int key) = 0;  // handles keys without Shift or Ctrl

  double fraction(const QPointF& at) const;  // position as a fraction of the view
  void paint_focus(QPainter& painter) const;
  void paint_band(QPainter& painter) const;
  void paint_readout(QPainter& painter) const;

  void changeEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

  TimelineColors colors_;
  TimeRange view_;
  SpanText reading_;
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
