// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_view.h"

#include <QHelpEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>

#include "ui/modelview/model_metrics.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {

ModelView::ModelView(QWidget* parent) : QAbstractScrollArea(parent) {
  setFrameShape(QFrame::NoFrame);
  setFocusPolicy(Qt::StrongFocus);
  setAcceptDrops(true);
  viewport()->setMouseTracking(true);
  setAccessibleName(tr("Layers of the model"));
  connect(&Theme::instance(), &Theme::changed, this, &ModelView::lay_out);
  for (QScrollBar* bar : {verticalScrollBar(), horizontalScrollBar()})
    connect(bar, &QScrollBar::valueChanged, viewport(), qOverload<>(&QWidget::update));
}

void ModelView::set_picture(const ModelPicture& picture) {
  const QStringList kept = places_of(picture_, selected_);
  const QString at = current_ < 0 ? QString() : picture_.node(current_).place;
  picture_ = picture;
  const Nodes still = nodes_at(picture_, kept);
  const bool other = still.size() != selected_.size();
  selected_ = still;
  current_ = anchor_ = at.isEmpty() ? -1 : picture_.node_at(at);
  hovered_ = target_ = -1;
  lay_out();
  describe();
  if (other) emit selection_changed();
}

void ModelView::set_empty_text(const QString& title, const QString& hint) {
  empty_title_ = title, empty_hint_ = hint;
  describe();
  viewport()->update();
}

void ModelView::set_overview(bool overview) {
  if (overview == overview_) return;
  overview_ = overview;
  lay_out();
  if (current_ >= 0) bring_into_view(current_);
  emit overview_changed(overview);
}

void ModelView::lay_out() {
  geometry_ = picture_.nodes.empty()
                  ? ModelGeometry()
                  : ModelGeometry(picture_, model_metrics(picture_, viewport()->size(), overview_));
  fit_scroll_bars();
  viewport()->update();
}

void ModelView::fit_scroll_bars() {
  const QRect body = scene().body;
  const QSize whole = geometry_.whole();
  const int line = fontMetrics().height();
  for (const auto& [bar, room, wanted] :
       {std::tuple{verticalScrollBar(), body.height(), whole.height()},
        {horizontalScrollBar(), body.width(), whole.width()}}) {
    bar->setPageStep(room);
    bar->setSingleStep(2 * line);
    bar->setRange(0, std::max(0, wanted - room));
  }
}

ModelScene ModelView::scene() const {
  const int head = std::min(geometry_.metrics().head, viewport()->height());
  return {&picture_,
          &geometry_,
          QRect(0, head, viewport()->width(), viewport()->height() - head),
          QPoint(horizontalScrollBar()->value(), verticalScrollBar()->value()),
          overview_,
          &selected_,
          current_,
          hovered_,
          hasFocus(),
          target_};
}

QRect ModelView::rect_of(int node) const {
  return geometry_.node_rect(node).translated(scene().origin());
}

QRect ModelView::rect_of_column(int column) const {
  const ModelScene now = scene();
  return geometry_.column_rect(column).translated(now.origin()) & now.body;
}

int ModelView::node_at(const QPoint& at) const {
  return scene().body.contains(at) ? geometry_.node_at(rows_point(at)) : -1;
}

// Returns the index of the group whose name is painted at a point left of the columns.
int ModelView::group_at(const QPoint& at) const {
  const QPoint rows = rows_point(at);
  if (picture_.nodes.empty() || !scene().body.contains(at) ||
      rows.x() >= geometry_.metrics().gutter)
    return -1;
  const int node = geometry_.row_at(rows.y());
  return node >= 0 && node < picture_.count() ? picture_.node(node).group : -1;
}

void ModelView::select(Nodes nodes, int current) {
  const bool other = nodes != selected_;
  selected_ = std::move(nodes);
  current_ = current;
  if (current_ >= 0) bring_into_view(current_);
  describe();
  viewport()->update();
  if (other) emit selection_changed();
}

// Updates the text for screen readers.
void ModelView::describe() {
  const bool several = selected_.size() > 1;
  setAccessibleDescription(picture_.nodes.empty() ? empty_text()
                           : several              ? details(picture_, selected_)
                           : current_ >= 0        ? sentence(picture_, current_)
                                                  : totals(picture_));
}

void ModelView::bring_into_view(int node) {
  const QRect box =
      geometry_.node_rect(node).adjusted(0, -geometry_.metrics().gap, 0, geometry_.metrics().gap);
  const QSize room = scene().body.size();
  const auto show = [](QScrollBar& bar, int from, int to, int page) {
    if (from < bar.value()) bar.setValue(from);
    else if (to > bar.value() + page) bar.setValue(to - page);
  };
  show(*verticalScrollBar(), box.top(), box.bottom(), room.height());
  show(*horizontalScrollBar(), box.left() - geometry_.metrics().lane,
       box.right() + geometry_.metrics().lane, room.width());
}

void ModelView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), Theme::instance().colors().canvas);
  if (picture_.nodes.empty()) return paint_nothing(painter);
  paint_model(painter, scene());
}

// Paints a text instead of the graph, centered and wrapped, if the picture has no nodes.
void ModelView::paint_nothing(QPainter& painter) const {
  constexpr int kLines = Qt::AlignHCenter | Qt::TextWordWrap;
  const Theme& theme = Theme::instance();
  const QRect room = viewport()->rect().adjusted(2 * kGrid, kGrid, -2 * kGrid, -kGrid);
  const QRect large = QFontMetrics(theme.font(1.2, true)).boundingRect(room, kLines, empty_title_);
  const QRect small = QFontMetrics(theme.font()).boundingRect(room, kLines, empty_hint_);
  const int top =
      std::max(room.top(), room.center().y() - (large.height() + kGrid + small.height()) / 2);
  painter.setFont(theme.font(1.2, true));
  painter.setPen(theme.colors().text);
  painter.drawText(QRect(room.left(), top, room.width(), large.height()), kLines, empty_title_);
  painter.setFont(theme.font());
  painter.setPen(theme.colors().dim);
  painter.drawText(QRect(room.left(), top + large.height() + kGrid, room.width(), small.height()),
                   kLines, empty_hint_);
}

bool ModelView::viewportEvent(QEvent* event) {
  if (event->type() == QEvent::Leave && hovered_ >= 0) {
    hovered_ = -1;
    viewport()->update();
  }
  if (event->type() != QEvent::ToolTip) return QAbstractScrollArea::viewportEvent(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), tool_tip_at(help->pos()), viewport());
  return true;
}

QString ModelView::tool_tip_at(const QPoint& at) const {
  if (const int node = node_at(at); node >= 0) return sentence(picture_, node);
  const int column = at.y() < scene().body.top() ? geometry_.column_at(rows_point(at).x()) : -1;
  if (column >= 0 && !picture_.splits) return picture_.kept;
  return column < 0 ? QString()
                    : column_details(picture_.columns[static_cast<std::size_t>(column)]);
}

void ModelView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::FontChange) lay_out();
}

void ModelView::resizeEvent(QResizeEvent* event) {
  const bool in_sight =
      current_ >= 0 && QRect(QPoint(), event->oldSize()).contains(rect_of(current_).center());
  QAbstractScrollArea::resizeEvent(event);
  if (overview_) lay_out();
  else fit_scroll_bars();
  if (in_sight) bring_into_view(current_);
}

void ModelView::focusInEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusInEvent(event);
  viewport()->update();
}

void ModelView::focusOutEvent(QFocusEvent* event) {
  QAbstractScrollArea::focusOutEvent(event);
  viewport()->update();
}

}  // namespace trainyard::ui
