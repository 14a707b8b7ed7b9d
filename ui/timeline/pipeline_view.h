// SPDX-License-Identifier: GPL-3.0-or-later
// View of a pipeline schedule, as in papers: a planned step above an executed step. It has zoom,
// pan, a read-out under the pointer and a selected cell. Page Up and Page Down request the previous
// and next step. Enter requests to show the first op of the selected cell in the plan.
#pragma once

#include "ui/timeline/pipeline_painter.h"
#include "ui/timeline/time_gestures.h"

namespace trainyard::ui {

class PipelineView : public TimeView {
  Q_OBJECT
 public:
  explicit PipelineView(QWidget* parent = nullptr);

  void set_picture(
      PipelinePicture picture);  // the selection stays if the new picture has the selected cell
  const PipelinePicture& picture() const { return picture_; }

  // Shows a part of the step. `range` has units in which the full step is kStepNanoseconds long.
  void show_range(const TimeRange& range) override;
  void home() override;

  std::optional<CellAddress> selected() const;
  void select(std::optional<CellAddress> place);  // selected by the user
  SpanText selection_text() const;                // empty if nothing is selected
  QRectF rect_of(const CellAddress& place) const {
    return scene().rect_of(place);
  }  // in viewport coordinates
  PipelineScene scene() const;

 signals:
  void step_requested(int way);
  void follow_requested();

 protected:
  QRect time_body() const override { return scene().body(CellBlock::plan); }
  QRect box_body() const override { return viewport()->rect().adjusted(gutter_, 0, 0, 0); }
  void restyle() override;
  void read_at(const QPointF& at) override;
  void clear_readout() override { hovered_.reset(); }
  void click(const QPointF& at) override { select(scene().place_at(at)); }
  Under under(const QPointF& at) const override;
  bool act_by_key(const QKeyEvent& event) override;
  bool navigate_by_key(int key) override;

  void resizeEvent(QResizeEvent* event) override;
  void paintEvent(QPaintEvent* event) override;

 private:
  // Identity of the selected cell: block, rank and pass. It remains valid if another step is
  // displayed.
  struct Selected {
    CellBlock block;
    int rank;
    experiment::Cell of;
  };

  void fit_scroll_bar();
  void bring_into_view(const CellAddress& place);
  void describe();
  void walk(CellStep way);

  PipelinePicture picture_;
  int gutter_ = 0, line_ = 0;
  std::optional<Selected> selected_;
  std::optional<CellAddress> hovered_;
};

}  // namespace trainyard::ui
