// SPDX-License-Identifier: GPL-3.0-or-later
// A pipeline as papers draw it: a step as it should go above a step as it went, with zoom, pan, a read-out under the pointer and a selected cell.
// Gestures are those of the timeline. Page Up and Page Down ask for the step before and after, Enter for the cell's first op in the plan.
#pragma once

#include <QAbstractScrollArea>

#include "ui/timeline/pipeline_painter.h"
#include "ui/timeline/timeline_words.h"

namespace trainyard::ui {

class PipelineView : public QAbstractScrollArea {
  Q_OBJECT
 public:
  explicit PipelineView(QWidget* parent = nullptr);

  void set_picture(PipelinePicture picture);  // a selected cell stays as long as there is one like it
  const PipelinePicture& picture() const { return picture_; }

  const TimeRange& view() const { return view_; }  // of a step, in parts of kWholeStep
  void home();
  void zoom_at(double fraction, double factor);
  void pan(double fraction);

  std::optional<CellPlace> selected() const;
  void select(std::optional<CellPlace> place);  // that a person meant
  SpanWords selected_words() const;             // empty when nothing is
  const SpanWords& reading() const { return reading_; }
  QRectF rect_of(const CellPlace& place) const { return scene().rect_of(place); }  // in the viewport
  PipelineScene scene() const;

 signals:
  void selection_changed();
  void plan_wanted();  // of the selected cell
  void step_wanted(int way);
  void follow_wanted();
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

  // Which cell it is, whichever step is shown.
  struct Selected {
    CellBlock block;
    int rank;
    experiment::Cell of;
  };

  void restyle();
  void fit_scroll_bar();
  void set_view(const TimeRange& range);
  void bring_into_view(const CellPlace& place);
  void read_at(const QPointF& at);
  void describe();
  bool steer_by_key(const QKeyEvent& event);
  bool walk_by_key(int key);
  void walk(CellStep way);
  double fraction(const QPointF& at) const;

  PipelinePicture picture_;
  TimelineColours colours_;
  TimeRange view_{0, kWholeStep};
  int gutter_ = 0, line_ = 0;
  std::optional<Selected> selected_;
  SpanWords reading_;
  std::optional<CellPlace> hovered_;
  QPointF pointer_, pressed_, last_;
  QRectF band_;
  Drag drag_ = Drag::none;
};

}  // namespace trainyard::ui
