// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/modelview/model_geometry.h"

#include <algorithm>
#include <numeric>

namespace trainyard::ui {

ModelGeometry::ModelGeometry(const ModelPicture& picture, const ModelMetrics& metrics)
    : metrics_(metrics),
      owners_(picture.owners),
      columns_(static_cast<int>(picture.columns.size())) {}

QSize ModelGeometry::whole() const {
  if (owners_.empty()) return {};
  const int figures =
      std::accumulate(metrics_.figures.begin(), metrics_.figures.end(), metrics_.kept);
  return {metrics_.gutter + columns_ * metrics_.column + figures,
          top_of(static_cast<int>(owners_.size()) + 1)};
}

// Returns the column in which a node of the graph is drawn. The input is in the column of the first
// node, the loss in that of the last node.
int ModelGeometry::column_of(int node) const {
  return owners_[static_cast<std::size_t>(
      std::clamp(node, 0, static_cast<int>(owners_.size()) - 1))];
}

QRect ModelGeometry::node_rect(int node) const {
  const QRect column = column_rect(column_of(node));
  return {column.left() + metrics_.lane, top_of(node), column.width() - 2 * metrics_.lane,
          metrics_.row};
}

QRect ModelGeometry::row_rect(int node) const {
  return {0, top_of(node) - metrics_.gap / 2, whole().width(), pitch()};
}
QRect ModelGeometry::column_rect(int column) const {
  return {metrics_.gutter + column * metrics_.column, 0, metrics_.column, whole().height()};
}
QRect ModelGeometry::group_rect(int first, int last) const {
  return row_rect(first) | row_rect(last);
}

QRect ModelGeometry::figure_rect(int node, int figure) const {
  const int left = std::accumulate(metrics_.figures.begin(), metrics_.figures.begin() + figure,
                                   metrics_.gutter + columns_ * metrics_.column);
  return {left, top_of(node), metrics_.figures[static_cast<std::size_t>(figure)], metrics_.row};
}

QRect ModelGeometry::kept_rect(int node) const {
  const QRect last = figure_rect(node, kFigures - 1);
  return {last.right() + 1, last.top(), metrics_.kept, last.height()};
}

int ModelGeometry::row_at(int y) const {
  return std::clamp((y - metrics_.gap / 2) / std::max(pitch(), 1) - 1, -1,
                    static_cast<int>(owners_.size()));
}

int ModelGeometry::node_at(const QPoint& at) const {
  if (owners_.empty()) return -1;
  const int node = row_at(at.y());
  return node >= 0 && node < static_cast<int>(owners_.size()) && node_rect(node).contains(at) ? node
                                                                                              : -1;
}

int ModelGeometry::column_at(int x) const {
  const int column =
      x < metrics_.gutter || metrics_.column == 0 ? -1 : (x - metrics_.gutter) / metrics_.column;
  return column < columns_ ? column : -1;
}

RowSpan ModelGeometry::rows_between(int top, int bottom) const {
  if (owners_.empty()) return {};
  return {row_at(top), row_at(bottom)};
}

QPolygonF ModelGeometry::step(int node) const {
  const QRectF from = node_rect(node), to = node_rect(node + 1);
  const double middle = (from.bottom() + to.top()) / 2;
  QPolygonF path{QPointF(from.center().x(), from.bottom())};
  if (from.left() != to.left())
    path << QPointF(from.center().x(), middle) << QPointF(to.center().x(), middle);
  return path << QPointF(to.center().x(), to.top());
}

// Returns the path from the side of one node to the side of another, through the space between
// columns. That space is free, because each row contains only one node.
QPolygonF ModelGeometry::beside(const QRectF& from, const QRectF& to, bool right,
                                double track) const {
  const bool same = from.left() == to.left(), out_right = same ? right : to.left() > from.left(),
             in_right = same ? right : !out_right;
  const double out = out_right ? from.right() : from.left(),
               lane = out + (out_right ? track : -track), in = in_right ? to.right() : to.left();
  return {QPointF(out, from.center().y()), QPointF(lane, from.center().y()),
          QPointF(lane, to.center().y()), QPointF(in, to.center().y())};
}

// Residual additions that end at consecutive nodes use different tracks, so that their lines do not
// overlap.
QPolygonF ModelGeometry::addition(int from, int to) const {
  return beside(node_rect(from), node_rect(to), true, metrics_.lane * (to % 2 == 0 ? 0.45 : 0.7));
}

QPolygonF ModelGeometry::tie(int from, int to) const {
  return beside(node_rect(from), node_rect(to), false, metrics_.lane * 0.6);
}

}  // namespace trainyard::ui
