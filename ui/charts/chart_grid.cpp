// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_grid.h"

#include <QApplication>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollArea>
#include <algorithm>
#include <limits>

#include "ui/theme/flow_layout.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
ChartGrid::ChartGrid(QWidget* parent)
    : QWidget(parent), target_(QRubberBand::Rectangle, this), layout_(new FlowLayout(this, kGrid)) {
  fit();
}

PlotView* ChartGrid::add(const QString& name) {
  auto* plot = new PlotView(this);
  plot->setObjectName(name);
  layout_->addWidget(plot);
  plot->drag_handle()->setProperty("chart", name);
  plot->drag_handle()->installEventFilter(this);
  plot->drag_handle()->setCursor(Qt::OpenHandCursor);
  plot->menu().addSeparator();
  plot->menu().addAction(tr("Move earlier"), this, [this, name] { move_by(name, -1); });
  plot->menu().addAction(tr("Move later"), this, [this, name] { move_by(name, 1); });
  plot->menu().addAction(tr("Hide"), this, [this, name] { set_shown(name, false); });
  cards_.push_back({name, plot});
  return plot;
}

int ChartGrid::index_of(const QString& name) const {
  return static_cast<int>(std::ranges::find(cards_, name, &Card::name) - cards_.begin());
}

void ChartGrid::move(const QString& name, int to) {
  const int from = index_of(name), count = static_cast<int>(cards_.size());
  if (from == count) return;
  to = std::clamp(to, 0, count - 1);
  const Card card = cards_[static_cast<std::size_t>(from)];
  cards_.erase(cards_.begin() + from);
  cards_.insert(cards_.begin() + to, card);
  layout_->move(from, to);
  fit();
  emit arrangement_changed();
}

// Moves a card by `by` positions among the visible cards. Hidden cards are skipped, so that the
// user sees every move.
void ChartGrid::move_by(const QString& name, int by) {
  int to = index_of(name) + by;
  while (to > 0 && to + 1 < static_cast<int>(cards_.size()) &&
         !cards_[static_cast<std::size_t>(to)].seen())
    to += by;
  move(name, to);
}

void ChartGrid::set_shown(const QString& name, bool shown) {
  const int index = index_of(name);
  if (index == static_cast<int>(cards_.size())) return;
  Card& card = cards_[static_cast<std::size_t>(index)];
  card.shown = shown;
  card.plot->setVisible(card.seen());
  fit();
  emit arrangement_changed();
}

bool ChartGrid::shown(const QString& name) const {
  const int index = index_of(name);
  return index < static_cast<int>(cards_.size()) && cards_[static_cast<std::size_t>(index)].shown;
}

void ChartGrid::set_present(const QString& name, bool there) {
  const int index = index_of(name);
  if (index == static_cast<int>(cards_.size()) ||
      cards_[static_cast<std::size_t>(index)].there == there)
    return;
  Card& card = cards_[static_cast<std::size_t>(index)];
  card.there = there;
  card.plot->setVisible(card.seen());
  fit();
}

bool ChartGrid::there(const QString& name) const {
  const int index = index_of(name);
  return index < static_cast<int>(cards_.size()) && cards_[static_cast<std::size_t>(index)].there;
}

QStringList ChartGrid::arrangement() const {
  QStringList names;
  for (const Card& card : cards_) names << (card.shown ? card.name : "-" + card.name);
  return names;
}

void ChartGrid::arrange(const QStringList& names) {
  int to = 0;
  for (const QString& entry : names) {
    const QString name = entry.startsWith('-') ? entry.mid(1) : entry;
    if (index_of(name) == static_cast<int>(cards_.size())) continue;
    set_shown(name, !entry.startsWith('-'));
    move(name, to++);
  }
}

void ChartGrid::set_page(int height) {
  layout_->set_page(height);
  fit();
}

// Sets the minimum height of the grid to the height that its cards need at the current width. The
// grid is inside a scroll area.
void ChartGrid::fit() {
  layout_->set_min_width(fontMetrics().height() * 20);
  setMinimumHeight(layout_->heightForWidth(width()));
  updateGeometry();
}

void ChartGrid::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  fit();
}

void ChartGrid::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) fit();
}

bool ChartGrid::eventFilter(QObject* watched, QEvent* event) {
  const auto type = event->type();
  if (type != QEvent::MouseButtonPress && type != QEvent::MouseMove &&
      type != QEvent::MouseButtonRelease)
    return QWidget::eventFilter(watched, event);
  const auto* mouse = static_cast<QMouseEvent*>(event);
  const QPoint at = mapFromGlobal(mouse->globalPosition().toPoint());
  if (type == QEvent::MouseButtonPress && mouse->button() == Qt::LeftButton) pressed_ = at;
  if (type == QEvent::MouseMove && mouse->buttons() & Qt::LeftButton) drag_to(at);
  if (type == QEvent::MouseButtonRelease && mouse->button() == Qt::LeftButton &&
      target_.isVisible()) {
    target_.hide();
    move(watched->property("chart").toString(), index_at(at));
  }
  return true;
}

// Highlights the card whose position the dragged card would take.
void ChartGrid::drag_to(QPoint at) {
  if (!target_.isVisible() && (at - pressed_).manhattanLength() < QApplication::startDragDistance())
    return;
  target_.setGeometry(cards_[static_cast<std::size_t>(index_at(at))].plot->geometry());
  target_.show();
  target_.raise();
  for (QWidget* above = parentWidget(); above; above = above->parentWidget())
    if (auto* area = qobject_cast<QScrollArea*>(above))
      area->ensureVisible(at.x(), at.y(), 0, fontMetrics().height() * 2);
}

// Returns the index of the card nearest to a point.
int ChartGrid::index_at(QPoint at) const {
  int best = 0, least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < cards_.size(); ++i) {
    if (!cards_[i].seen()) continue;
    const int far = (cards_[i].plot->geometry().center() - at).manhattanLength();
    if (far < least) least = far, best = static_cast<int>(i);
  }
  return best;
}

}  // namespace trainyard::ui
