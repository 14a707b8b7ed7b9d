// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_view.h"

#include <QKeyEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/timeline/pipeline_text.h"

namespace trainyard::ui {
namespace {

constexpr TimeRange kWhole{0, kStepNanoseconds};

}  // namespace

PipelineView::PipelineView(QWidget* parent) : TimeView(parent) {
  view_ = kWhole;
  setAccessibleName(tr("Pipeline: planned step above, measured step below"));
  connect(verticalScrollBar(), &QScrollBar::valueChanged, viewport(),
          qOverload<>(&QWidget::update));
  restyle();
}

void PipelineView::restyle() {
  colors_ = timeline_colors();
  const QFontMetrics metrics(Theme::instance().font(0.92));
  line_ = metrics.height() + 4;
  gutter_ = metrics.horizontalAdvance("rank 00  0.0\u20130.00") + 2 * kGrid;
  fit_scroll_bar();
  viewport()->update();
}

PipelineScene PipelineView::scene() const {
  return {&picture_,
          view_,
          viewport()->size(),
          gutter_,
          line_,
          verticalScrollBar()->value(),
          Theme::instance().font(0.92)};
}

void PipelineView::fit_scroll_bar() {
  verticalScrollBar()->setPageStep(viewport()->height());
  verticalScrollBar()->setSingleStep(line_);
  verticalScrollBar()->setRange(0, std::max(0, scene().height() - viewport()->height()));
}

void PipelineView::set_picture(PipelinePicture picture) {
  const bool had = selected().has_value();
  picture_ = std::move(picture);
  hovered_.reset();
  reading_ = {};
  fit_scroll_bar();
  if (underMouse()) read_at(pointer_);
  describe();
  viewport()->update();
  if (had && !selected()) selected_.reset(), emit selection_changed();
}

void PipelineView::show_range(const TimeRange& range) {
  view_ = within_home(range, kWhole);
  viewport()->update();
}

void PipelineView::home() { show_range(kWhole); }

std::optional<CellAddress> PipelineView::selected() const {
  const StepCells* cells = selected_ ? picture_.cells(selected_->block) : nullptr;
  const PassCell* cell = cells ? cells->find(selected_->rank, selected_->of) : nullptr;
  if (!cell) return {};
  return CellAddress{selected_->block, selected_->rank,
                     static_cast<std::size_t>(
                         cell - cells->ranks[static_cast<std::size_t>(selected_->rank)].data())};
}

void PipelineView::select(std::optional<CellAddress> place) {
  const PassCell* cell = place ? scene().cell(*place) : nullptr;
  if (cell) bring_into_view(*place);
  selected_ = cell ? std::optional(Selected{place->block, place->rank, cell->of}) : std::nullopt;
  describe();
  viewport()->update();
  emit selection_changed();
}

SpanText PipelineView::selection_text() const {
  const auto place = selected();
  return place ? span_text(picture_, *place) : SpanText();
}

// Updates the text for screen readers: it describes the selected cell, or the visible steps if no
// cell is selected.
void PipelineView::describe() {
  setAccessibleDescription(selected() ? selection_text().sentence()
                                      : planned_text(picture_) + ". " + measured_text(picture_));
}

void PipelineView::bring_into_view(const CellAddress& place) {
  const PipelineScene now = scene();
  const QRectF box = now.rect_of(place);
  QScrollBar& bar = *verticalScrollBar();
  if (box.top() < 0) bar.setValue(bar.value() + qRound(box.top()) - line_);
  if (box.bottom() > viewport()->height())
    bar.setValue(bar.value() + qRound(box.bottom()) - viewport()->height() + line_);
  const QRect body = now.body(place.block);
  if (box.left() < body.left() || box.right() > body.right() + 1)
    pan((box.center().x() - body.center().x()) / body.width());
}

void PipelineView::read_at(const QPointF& at) {
  pointer_ = at;
  hovered_ = scene().place_at(at);
  reading_ = hovered_ ? span_text(picture_, *hovered_) : SpanText();
  viewport()->update();
}

void PipelineView::resizeEvent(QResizeEvent* event) {
  TimeView::resizeEvent(event);
  fit_scroll_bar();
}

void PipelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), colors_.ground);
  paint_pipeline(painter, scene(), colors_, {hovered_, selected(), hasFocus()});
  if (hasFocus() && !selected()) paint_focus(painter);
  paint_band(painter);
  paint_readout(painter);
  emit painted();
}

TimeView::Under PipelineView::under(const QPointF& at) const {
  const auto place = scene().place_at(at);
  return !place ? Under::nothing : place == selected() ? Under::selected : Under::another;
}

bool PipelineView::act_by_key(const QKeyEvent& event) {
  switch (event.key()) {
    case Qt::Key_F: return (emit follow_requested()), true;
    case Qt::Key_PageUp: return (emit step_requested(-1)), true;
    case Qt::Key_PageDown: return (emit step_requested(1)), true;
    default: return false;
  }
}

bool PipelineView::navigate_by_key(int key) {
  switch (key) {
    case Qt::Key_Left: return walk(CellStep::previous), true;
    case Qt::Key_Right: return walk(CellStep::next), true;
    case Qt::Key_Home: return walk(CellStep::first), true;
    case Qt::Key_End: return walk(CellStep::last), true;
    case Qt::Key_Up: return walk(CellStep::up), true;
    case Qt::Key_Down: return walk(CellStep::down), true;
    case Qt::Key_Return:
    case Qt::Key_Enter: return selected() ? (emit plan_requested(), true) : false;
    case Qt::Key_Escape: return selected() ? (select({}), true) : false;
    default: return false;
  }
}

void PipelineView::walk(CellStep way) {
  const auto from = selected();
  if (const auto to = from ? neighbor_cell(picture_, *from, way) : first_cell(picture_)) select(to);
}

}  // namespace trainyard::ui
