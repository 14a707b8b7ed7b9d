// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/flow_layout.h"

#include <QWidget>
#include <algorithm>

namespace trainyard::ui {
namespace {

struct Wrapped {
  int count = 0, height = 0;
};

// Distributes items of the given sizes over rows. An item that is wider than a row gets a separate
// row.
QList<Wrapped> wrapped(const QList<QSize>& sizes, int width, int spacing) {
  QList<Wrapped> rows;
  int used = 0;
  for (const QSize& size : sizes) {
    if (rows.isEmpty() || used + size.width() > width) rows.append(Wrapped{}), used = 0;
    ++rows.last().count;
    rows.last().height = std::max(rows.last().height, size.height());
    used += size.width() + spacing;
  }
  return rows;
}

}  // namespace

FlowLayout::FlowLayout(QWidget* parent, int spacing, int min_width)
    : QLayout(parent), min_width_(min_width) {
  setContentsMargins(0, 0, 0, 0);
  setSpacing(spacing);
}

FlowLayout::~FlowLayout() { qDeleteAll(items_); }

void FlowLayout::move(int from, int to) {
  items_.move(from, to);
  invalidate();
}

void FlowLayout::set_min_width(int width) {
  // Avoids an endless loop: `invalidate` requests a layout, during which this function may be
  // called again.
  if (width == min_width_) return;
  min_width_ = width;
  invalidate();
}

void FlowLayout::set_page(int height) {
  if (height == page_) return;
  page_ = height;
  invalidate();
}

QSize FlowLayout::minimumSize() const {
  QSize size;
  for (const QLayoutItem* item : items_)
    if (!item->isEmpty()) size = size.expandedTo(item->minimumSize());
  return size;
}

void FlowLayout::setGeometry(const QRect& rectangle) {
  QLayout::setGeometry(rectangle);
  arrange(rectangle, true);
}

QSize FlowLayout::size_of(const QLayoutItem& item, int width) const {
  QSize size = item.sizeHint();
  const int columns =
      min_width_ > 0 ? std::max(1, (width + spacing()) / (min_width_ + spacing())) : 0;
  size.setWidth(columns > 0 ? (width - (columns - 1) * spacing()) / columns
                            : std::min(size.width(), width));
  return size;
}

// Places the items of a row. If the layout has columns, items are as high as the row; otherwise
// they are centered vertically.
void FlowLayout::place(const QList<QLayoutItem*>& row, int left, int top, int width,
                       int height) const {
  for (QLayoutItem* item : row) {
    const QSize size = size_of(*item, width);
    const int own = min_width_ > 0 ? height : size.height();
    item->setGeometry(QRect(left, top + (height - own) / 2, size.width(), own));
    left += size.width() + spacing();
  }
}

QList<FlowLayout::Row> FlowLayout::rows_in(int width) const {
  QList<QLayoutItem*> shown;
  QList<QSize> sizes;
  for (QLayoutItem* item : items_)
    if (!item->isEmpty()) shown << item, sizes << size_of(*item, width);
  QList<Row> rows;
  qsizetype first = 0;
  for (const Wrapped& row : wrapped(sizes, width, spacing())) {
    rows.append({shown.mid(first, row.count), row.height});
    first += row.count;
  }
  return rows;
}

// Stretches rows so that they fill pages. Each page has as many rows as fit at their preferred
// height. If not even one row fits, a page has one row, which may be compressed to its minimum
// height.
void FlowLayout::fill_page(QList<Row>& rows) const {
  if (page_ <= 0 || rows.isEmpty()) return;
  const int wanted = std::ranges::max(rows, {}, &Row::height).height;
  const int count =
      std::clamp((page_ + spacing()) / (wanted + spacing()), 1, static_cast<int>(rows.size()));
  for (Row& row : rows)
    row.height = std::max(minimumSize().height(), (page_ + spacing()) / count - spacing());
}

int FlowLayout::height_of(const QList<QSize>& sizes, int width, int spacing) {
  int height = 0;
  for (const Wrapped& row : wrapped(sizes, width, spacing))
    height += (height > 0 ? spacing : 0) + row.height;
  return height;
}

int FlowLayout::arrange(const QRect& outer, bool placing) const {
  const QRect inside = outer.marginsRemoved(contentsMargins());
  QList<Row> rows = rows_in(inside.width());
  fill_page(rows);
  int y = inside.y();
  for (const Row& row : rows) {
    if (placing) place(row.items, inside.x(), y, inside.width(), row.height);
    y += row.height + spacing();
  }
  return std::max(0, y - spacing() - inside.y()) + contentsMargins().top() +
         contentsMargins().bottom();
}

}  // namespace trainyard::ui
