// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline of a run: every rank's lanes over time, live or old, with zoom, pan, a read-out under the pointer and a selected op.
// Gestures are those of the charts: drag to zoom into a box, Shift and drag to pan, Ctrl and wheel to zoom, double click to see everything.
// Painting costs as much as the pixels, whatever the number of ops.
#pragma once

#include <QAbstractScrollArea>
#include <QPointF>
#include <optional>

#include "ui/timeline/timeline_painter.h"
#include "ui/timeline/timeline_walk.h"
#include "ui/timeline/timeline_words.h"

namespace trainyard::ui {

class TimelineView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit TimelineView(QWidget* parent = nullptr);

  // All null: nothing is shown. They must outlive this or be taken away.
  void set_source(const SpanStore* store, const telemetry::History* history, const StepTimes* steps);
  void refresh();  // what they hold has grown
  void set_empty_text(const QString& text) { empty_text_ = text, viewport()->update(); }
  const QString& empty_text() const { return empty_text_; }
  void set_notes(const QStringList& by_rank);

  const TimeRange& view() const { return view_; }
  TimeRange home_range() const;
  void show_range(const TimeRange& range);  // as far as home goes; what is followed is let go
  void home();                              // everything
  void zoom_at(double fraction, double factor);
  void pan(double fraction);
  void set_following(bool following);  // the end of the view is the last op that was recorded
  bool following() const { return following_; }
  void set_frozen(bool frozen);  // what is shown stays, whatever comes; it can be looked through
  bool frozen() const { return held_.holds(); }
  void set_thin(bool thin);  // lanes without names, for many ranks
  bool thin() const { return thin_; }

  std::optional<SpanPlace> selected() const { return selected_; }
  void select(std::optional<SpanPlace> place, bool into_view = true);
  std::optional<std::int32_t> chosen_step() const { return chosen_step_; }
  void choose_step(std::optional<std::int32_t> step);
  const SpanWords& reading() const { return reading_; }  // what is said at the pointer
  bool merged() const { return merged_; }                // at the last painting, some ops shared a column
  QRectF rect_of(const SpanPlace& place) const;          // in the viewport
  std::optional<SpanPlace> place_at(const QPointF& at) const;

 signals:
  void view_changed();
  void following_changed(bool following);
  void selection_changed();
  void step_chosen();
  void plan_wanted();  // of the selected op
  void painted();

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool viewportEvent(QEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;

 private:
  enum class Drag { none, box, pan };

  TimelineScene scene() const;
  void restyle();
  void lay_out();
  void fit_scroll_bar();
  void first_view();
  void set_view(const TimeRange& range);
  void let_go();
  void repaint_all();
  void paint_marks(QPainter& painter);
  void read_at(const QPointF& at);
  void read_merged(const SpanPlace& place, const SpanPiece& piece);
  std::optional<SpanPlace> track_place_at(const QPointF& at) const;
  std::optional<SpanPiece> merged_at(const SpanPlace& place, const QPointF& at) const;
  void click(const QPointF& at);
  void finish_box(const QPointF& at);
  bool walk_by_key(int key);
  bool steer_by_key(const QKeyEvent& event);
  void walk_to_lane(int way);
  void walk_along(Walk way);
  void start_walking();
  void bring_into_view(const SpanPlace& place);
  double fraction(const QPointF& at) const;

  const SpanStore* store_ = nullptr;
  const telemetry::History* history_ = nullptr;
  const StepTimes* steps_ = nullptr;
  TimelineColours colours_;
  TimelineRows rows_;
  HeldSpans held_;
  TimeRange held_extent_;
  TimeRange view_;
  bool viewed_ = false;  // somebody chose what is seen
  bool following_ = true, thin_ = false, merged_ = false, stale_ = true;
  SpansPicture picture_;
  QString empty_text_;
  QStringList notes_;
  int gutter_ = 0, ruler_ = 0, laid_out_lanes_ = -1;

  std::optional<SpanPlace> selected_;
  std::optional<std::int32_t> chosen_step_;
  SpanWords reading_;
  QRectF hovered_;
  QPointF pointer_, pressed_, last_;
  QRectF band_;
  Drag drag_ = Drag::none;
};

}  // namespace trainyard::ui
