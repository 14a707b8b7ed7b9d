// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_view.h"

#include <QEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/theme/theme.h"
#include "ui/timeline/pipeline_words.h"
#include "ui/timeline/reading.h"

namespace trainyard::ui {
namespace {

constexpr TimeRange kWhole{0, kWholeStep};
constexpr double kKeyZoom = 0.8, kKeyPan = 0.1;
constexpr int kClick = 6;  // pixels; what moved less is no box

}  // namespace

PipelineView::PipelineView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  setAccessibleName(tr("Pipeline: the plan of a step above the step as it ran"));
  connect(&Theme::instance(), &Theme::changed, this, &PipelineView::restyle);
  connect(verticalScrollBar(), &QScrollBar::valueChanged, viewport(), qOverload<>(&QWidget::update));
  restyle();
}

void PipelineView::restyle() {
  colours_ = timeline_colours();
  const QFontMetrics metrics(Theme::instance().font(0.92));
  line_ = metrics.height() + 4;
  gutter_ = metrics.horizontalAdvance("rank 00  0.0\u20130.00") + 2 * kGrid;
  fit_scroll_bar();
  viewport()->update();
}

PipelineScene PipelineView::scene() const {
  return {&picture_, view_, viewport()->size(), gutter_, line_, verticalScrollBar()->value(), Theme::instance().font(0.92)};
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

void PipelineView::set_view(const TimeRange& range) {
  view_ = within_home(range, kWhole);
  viewport()->update();
}

void PipelineView::home() { set_view(kWhole); }
void PipelineView::zoom_at(double fraction, double factor) { set_view(zoomed(view_, fraction, factor)); }
void PipelineView::pan(double fraction) { set_view(panned(view_, fraction)); }

std::optional<CellPlace> PipelineView::selected() const {
  const StepCells* cells = selected_ ? picture_.cells(selected_->block) : nullptr;
  const PassCell* cell = cells ? cells->find(selected_->rank, selected_->of) : nullptr;
  if (!cell) return {};
  return CellPlace{selected_->block, selected_->rank, static_cast<std::size_t>(cell - cells->ranks[static_cast<std::size_t>(selected_->rank)].data())};
}

void PipelineView::select(std::optional<CellPlace> place) {
  const PassCell* cell = place ? scene().cell(*place) : nullptr;
  if (cell) bring_into_view(*place);
  selected_ = cell ? std::optional(Selected{place->block, place->rank, cell->of}) : std::nullopt;
  describe();
  viewport()->update();
  emit selection_changed();
}

SpanWords PipelineView::selected_words() const {
  const auto place = selected();
  return place ? words_of(picture_, *place) : SpanWords();
}

// For screen readers: the cell, else what is seen.
void PipelineView::describe() {
  setAccessibleDescription(selected() ? selected_words().sentence() : planned_words(picture_) + ". " + measured_words(picture_));
}

void PipelineView::bring_into_view(const CellPlace& place) {
  const PipelineScene now = scene();
  const QRectF box = now.rect_of(place);
  QScrollBar& bar = *verticalScrollBar();
  if (box.top() < 0) bar.setValue(bar.value() + qRound(box.top()) - line_);
  if (box.bottom() > viewport()->height()) bar.setValue(bar.value() + qRound(box.bottom()) - viewport()->height() + line_);
  const QRect body = now.body(place.block);
  if (box.left() < body.left() || box.right() > body.right() + 1) pan((box.center().x() - body.center().x()) / body.width());
}

void PipelineView::read_at(const QPointF& at) {
  pointer_ = at;
  hovered_ = scene().place_at(at);
  reading_ = hovered_ ? words_of(picture_, *hovered_) : SpanWords();
  viewport()->update();
}

void PipelineView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) restyle();
}

void PipelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  fit_scroll_bar();
}

void PipelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), colours_.ground);
  paint_pipeline(painter, scene(), colours_, {hovered_, selected(), hasFocus()});
  if (hasFocus() && !selected()) {
    painter.setPen(QPen(colours_.accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
  }
  if (!band_.isEmpty()) {
    QColor wash = colours_.accent;
    wash.setAlpha(40);
    painter.setPen(QPen(colours_.accent, 1));
    painter.setBrush(wash);
    painter.drawRect(band_);
  }
  if (!reading_.title.isEmpty()) paint_reading(painter, reading_, pointer_, viewport()->size(), colours_);
  emit painted();
}

double PipelineView::fraction(const QPointF& at) const {
  const QRect body = scene().body(CellBlock::plan);
  return (at.x() - body.left()) / body.width();
}

void PipelineView::mousePressEvent(QMouseEvent* event) {
  const bool left = event->button() == Qt::LeftButton;
  if (!left && event->button() != Qt::MiddleButton) return QAbstractScrollArea::mousePressEvent(event);
  drag_ = !left || event->modifiers() & Qt::ShiftModifier ? Drag::pan : Drag::box;
  pressed_ = last_ = event->position();
  event->accept();
}

void PipelineView::mouseMoveEvent(QMouseEvent* event) {
  const QPointF at = event->position();
  if (drag_ == Drag::pan) {
    pan(fraction(last_) - fraction(at));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + qRound(last_.y() - at.y()));
  } else if (drag_ == Drag::box) {
    const bool wide = std::abs(at.x() - pressed_.x()) >= kClick;
    const QRectF all(gutter_, 0, viewport()->width() - gutter_, viewport()->height());
    band_ = wide ? QRectF(QPointF(pressed_.x(), all.top()), QPointF(at.x(), all.bottom())).normalized() & all : QRectF();
    reading_ = {};
    viewport()->update();
  } else {
    read_at(at);
  }
  last_ = at;
}

void PipelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (std::exchange(drag_, Drag::none) != Drag::box) return;
  const QRectF band = std::exchange(band_, {});
  viewport()->update();
  if (band.isEmpty()) return select(scene().place_at(event->position()));
  const auto at = [&](double x) { return view_.begin + static_cast<Nanoseconds>(fraction({x, 0}) * static_cast<double>(view_.width())); };
  set_view({at(band.left()), at(band.right())});
}

void PipelineView::mouseDoubleClickEvent(QMouseEvent* event) {
  drag_ = Drag::none;
  if (event->button() != Qt::LeftButton) return;
  const auto place = scene().place_at(event->position());
  if (place && place == selected()) emit plan_wanted();
  else if (!place) home();
}

// A plain wheel scrolls through the ranks.
void PipelineView::wheelEvent(QWheelEvent* event) {
  const QPoint turn = event->angleDelta();
  const int most = turn.y() != 0 ? turn.y() : turn.x();
  if (event->modifiers() & Qt::ControlModifier) zoom_at(std::clamp(fraction(event->position()), 0.0, 1.0), std::pow(1.0015, -most));
  else if (event->modifiers() & Qt::ShiftModifier || std::abs(turn.x()) > std::abs(turn.y())) pan(-kKeyPan * most / 120);
  else return QAbstractScrollArea::wheelEvent(event);
  event->accept();
}

bool PipelineView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave) {
    reading_ = {};
    hovered_.reset();
    viewport()->update();
  }
  return QAbstractScrollArea::viewportEvent(event);
}

void PipelineView::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void PipelineView::keyPressEvent(QKeyEvent* event) {
  if (steer_by_key(*event) || (!(event->modifiers() & (Qt::ControlModifier | Qt::ShiftModifier)) && walk_by_key(event->key()))) return event->accept();
  QAbstractScrollArea::keyPressEvent(event);
}

bool PipelineView::steer_by_key(const QKeyEvent& event) {
  const bool shift = event.modifiers() & Qt::ShiftModifier;
  switch (event.key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoom_at(0.5, kKeyZoom), true;
    case Qt::Key_Minus: return zoom_at(0.5, 1 / kKeyZoom), true;
    case Qt::Key_0: return home(), true;
    case Qt::Key_F: return (emit follow_wanted()), true;
    case Qt::Key_Left: return shift ? (pan(-kKeyPan), true) : false;
    case Qt::Key_Right: return shift ? (pan(kKeyPan), true) : false;
    case Qt::Key_PageUp: return (emit step_wanted(-1)), true;
    case Qt::Key_PageDown: return (emit step_wanted(1)), true;
    default: return false;
  }
}

bool PipelineView::walk_by_key(int key) {
  switch (key) {
    case Qt::Key_Left: return walk(CellStep::previous), true;
    case Qt::Key_Right: return walk(CellStep::next), true;
    case Qt::Key_Home: return walk(CellStep::first), true;
    case Qt::Key_End: return walk(CellStep::last), true;
    case Qt::Key_Up: return walk(CellStep::up), true;
    case Qt::Key_Down: return walk(CellStep::down), true;
    case Qt::Key_Return:
    case Qt::Key_Enter: return selected() ? (emit plan_wanted(), true) : false;
    case Qt::Key_Escape: return selected() ? (select({}), true) : false;
    default: return false;
  }
}

void PipelineView::walk(CellStep way) {
  const auto from = selected();
  if (const auto to = from ? cell_beside(picture_, *from, way) : first_cell(picture_)) select(to);
}

}  // namespace trainyard::ui
