// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/chart_grid.h"

#include <QApplication>
#include <QDrag>
#include <QDropEvent>
#include <QMenu>
#include <QMimeData>
#include <QMouseEvent>
#include <algorithm>

#include "ui/charts/flow_layout.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr auto kMime = "application/x-trainyard-chart";

}  // namespace

ChartGrid::ChartGrid(QWidget* parent) : QWidget(parent), layout_(new FlowLayout(this, kGrid)) {
  setAcceptDrops(true);
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

int ChartGrid::index_of(const QString& name) const { return static_cast<int>(std::ranges::find(cards_, name, &Card::name) - cards_.begin()); }

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

// Over hidden cards, so that something is seen to move.
void ChartGrid::move_by(const QString& name, int by) {
  int to = index_of(name) + by;
  while (to > 0 && to + 1 < static_cast<int>(cards_.size()) && !cards_[static_cast<std::size_t>(to)].shown) to += by;
  move(name, to);
}

void ChartGrid::set_shown(const QString& name, bool shown) {
  const int index = index_of(name);
  if (index == static_cast<int>(cards_.size())) return;
  Card& card = cards_[static_cast<std::size_t>(index)];
  card.shown = shown;
  card.plot->setVisible(shown);
  fit();
  emit arrangement_changed();
}

bool ChartGrid::shown(const QString& name) const {
  const int index = index_of(name);
  return index < static_cast<int>(cards_.size()) && cards_[static_cast<std::size_t>(index)].shown;
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

// The grid is as high as its cards need at this width; a scroll area shows it.
void ChartGrid::fit() {
  layout_->set_least_width(fontMetrics().height() * 24);
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
  const auto* mouse = event->type() == QEvent::MouseMove ? static_cast<QMouseEvent*>(event) : nullptr;
  if (!mouse || !(mouse->buttons() & Qt::LeftButton)) return QWidget::eventFilter(watched, event);
  const QString name = watched->property("chart").toString();
  auto* drag = new QDrag(this);
  auto* mime = new QMimeData;
  mime->setData(kMime, name.toUtf8());
  drag->setMimeData(mime);
  drag->setPixmap(cards_[static_cast<std::size_t>(index_of(name))].plot->grab().scaledToWidth(160, Qt::SmoothTransformation));
  drag->exec(Qt::MoveAction);
  return true;
}

void ChartGrid::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasFormat(kMime)) event->acceptProposedAction();
}

void ChartGrid::dropEvent(QDropEvent* event) {
  const auto under = std::ranges::find_if(cards_, [&](const Card& card) { return card.shown && card.plot->geometry().contains(event->position().toPoint()); });
  const auto to = under == cards_.end() ? static_cast<std::ptrdiff_t>(cards_.size()) - 1 : under - cards_.begin();
  move(QString::fromUtf8(event->mimeData()->data(kMime)), static_cast<int>(to));
  event->acceptProposedAction();
}

}  // namespace trainyard::ui
