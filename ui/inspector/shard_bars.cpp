// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/shard_bars.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "core/base/units.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr std::size_t kManyRanks = 16;  // with more ranks, rows are closer together
constexpr double kWideBar = 5;          // pixels; minimum width of a bar with a gap

QString number(std::int64_t count) { return QString::fromStdString(base::format_count(count)); }

}  // namespace

ShardBars::ShardBars(QWidget* parent) : QWidget(parent) {
  setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
  setAccessibleName(tr("Samples by rank and class"));
  connect(&Theme::instance(), &Theme::changed, this, [this] { updateGeometry(), update(); });
}

void ShardBars::show_shards(const data::ShardTable& shards) {
  if (shards == shards_) return;
  shards_ = shards;
  totals_ = data::samples_by_rank(shards);
  largest_ = 1;
  QStringList lines;
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    for (const std::int64_t count : shards[rank]) largest_ = std::max(largest_, count);
    lines
        << tr("rank %1: %2").arg(rank).arg(QString::fromStdString(data::shard_text(shards[rank])));
  }
  setAccessibleDescription(lines.join("\n"));
  updateGeometry();
  update();
}

double ShardBars::row_height() const {
  const double line = fontMetrics().height();
  return std::ceil(shards_.size() > kManyRanks ? line : line * 1.6);
}

double ShardBars::label_width() const {
  const auto last = shards_.empty() ? 0 : shards_.size() - 1;
  return fontMetrics().horizontalAdvance(tr("rank %1").arg(last)) + kGrid;
}

double ShardBars::total_width() const {
  const auto most = totals_.empty() ? 0 : *std::max_element(totals_.begin(), totals_.end());
  return fontMetrics().horizontalAdvance(number(most)) + kGrid;
}

QRectF ShardBars::row(std::size_t rank) const {
  const double height = row_height();
  return {label_width(), static_cast<double>(rank) * height + 2,
          std::max(0.0, width() - label_width() - total_width()), height - 3};
}

QRectF ShardBars::cell(std::size_t rank, std::size_t label) const {
  const QRectF all = row(rank);
  const double step = all.width() / static_cast<double>(classes());
  return {all.left() + static_cast<double>(label) * step, all.top(), step, all.height()};
}

QRectF ShardBars::bar(std::size_t rank, std::size_t label) const {
  const std::int64_t count = shards_[rank][label];
  if (count == 0) return {};
  QRectF bar = cell(rank, label);
  const double height =
      std::max(1.0, bar.height() * static_cast<double>(count) / static_cast<double>(largest_));
  bar.setTop(bar.bottom() - height);
  if (bar.width() >= kWideBar) bar.adjust(1, 0, -1, 0);
  return bar;
}

QString ShardBars::text_at(const QPointF& place) const {
  for (std::size_t rank = 0; rank < shards_.size(); ++rank)
    for (std::size_t label = 0; label < classes(); ++label)
      if (cell(rank, label).contains(place))
        return tr("rank %1, class %2: %n sample(s)", nullptr, plural(shards_[rank][label]))
            .arg(rank)
            .arg(label);
  return {};
}

QSize ShardBars::sizeHint() const {
  const double rows = static_cast<double>(shards_.size()) * row_height();
  return {Theme::instance().pixels(240),
          shards_.empty() ? 0 : static_cast<int>(rows + fontMetrics().height() + 2)};
}

QSize ShardBars::minimumSizeHint() const {
  return {static_cast<int>(label_width() + total_width()) + Theme::instance().pixels(64),
          sizeHint().height()};
}

void ShardBars::paintEvent(QPaintEvent*) {
  if (shards_.empty()) return;
  QPainter painter(this);
  for (std::size_t rank = 0; rank < shards_.size(); ++rank) paint_row(painter, rank);
  paint_classes(painter);
}

void ShardBars::paint_row(QPainter& painter, std::size_t rank) const {
  const Colors& c = Theme::instance().colors();
  const QRectF bars = row(rank);
  painter.setPen(c.text);
  painter.drawText(QRectF(0, bars.top(), bars.left(), bars.height()),
                   Qt::AlignLeft | Qt::AlignVCenter, tr("rank %1").arg(rank));
  painter.drawText(QRectF(bars.right(), bars.top(), width() - bars.right(), bars.height()),
                   Qt::AlignRight | Qt::AlignVCenter, number(totals_[rank]));
  painter.setPen(c.border);
  painter.drawLine(QPointF(bars.left(), bars.bottom()), QPointF(bars.right(), bars.bottom()));
  const QColor color = Theme::instance().series_color(static_cast<int>(rank));
  for (std::size_t label = 0; label < classes(); ++label)
    if (const QRectF one = bar(rank, label); !one.isEmpty()) painter.fillRect(one, color);
}

// Writes the index of each class below the last row. If there is not enough room, writes only every
// n-th index.
void ShardBars::paint_classes(QPainter& painter) const {
  painter.setPen(Theme::instance().colors().dim);
  const QRectF first = cell(0, 0);
  const double wanted =
      fontMetrics().horizontalAdvance(QString::number(classes() - 1)) + kGrid / 2.0;
  const auto every =
      static_cast<std::size_t>(std::max(1.0, std::ceil(wanted / std::max(1.0, first.width()))));
  const double top = static_cast<double>(shards_.size()) * row_height();
  for (std::size_t label = 0; label < classes(); label += every) {
    const QPointF middle = cell(0, label).center();
    painter.drawText(QRectF(middle.x() - wanted, top, 2 * wanted, fontMetrics().height()),
                     Qt::AlignHCenter | Qt::AlignTop, QString::number(label));
  }
  painter.drawText(QRectF(0, top, first.left(), fontMetrics().height()),
                   Qt::AlignLeft | Qt::AlignTop, tr("class"));
}

bool ShardBars::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  QToolTip::showText(help->globalPos(), text_at(help->pos()), this);
  return true;
}

void ShardBars::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) updateGeometry();
}

}  // namespace trainyard::ui
