// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of the model view in pixels. The nodes of the model are below each other, from the input
// to the loss. From left to right are the columns (devices or stages), then the numbers of each
// node. Coordinates exclude the column headers and the scroll position. Pure.
#pragma once

#include <QPoint>
#include <QPolygonF>
#include <QRect>
#include <array>
#include <vector>

#include "ui/modelview/model_text.h"

namespace trainyard::ui {

// Lengths in pixels that depend on the font.
struct ModelMetrics {
  int gutter = 0;            // width of the group names left of the columns; 0: no groups
  int row = 0, gap = 0;      // height of a node, and distance to the next one
  int column = 0, lane = 0;  // width of a column, and of the lanes on either side of its nodes
  int head = 0;              // height of the area above the rows
  std::array<int, kFigures> figures = {};  // widths of the columns of numbers; 0: not shown
  int kept = 0;  // width of the list of ranks that keep the parameters; 0: not shown
};

struct RowSpan {
  int first = 0, last = -1;
};

class ModelGeometry {
 public:
  ModelGeometry() = default;
  ModelGeometry(const ModelPicture& picture, const ModelMetrics& metrics);

  const ModelMetrics& metrics() const { return metrics_; }
  QSize whole() const;                          // size of all rows together
  QRect node_rect(int node) const;              // -1: the input; one past the last node: the loss
  QRect row_rect(int node) const;               // row over the full width
  QRect column_rect(int column) const;          // column over the full height of the rows
  QRect group_rect(int first, int last) const;  // rows of a group over the full width
  QRect figure_rect(int node, int figure) const;
  QRect kept_rect(int node) const;
  int node_at(const QPoint& at) const;  // node whose box contains the point; -1 if there is none
  int row_at(int y) const;              // index of the node in the row at y, as in node_rect
  int column_at(int x) const;           // index of the column at x; -1: none
  RowSpan rows_between(int top, int bottom) const;

  // Path from a node to the node in the next row, which may be in another column.
  QPolygonF step(int node) const;
  // Path from the side of a node down to the side of a later node that adds the first node's
  // output. It runs in the lane right of the column if both nodes are in one column, otherwise
  // between their columns.
  QPolygonF addition(int from, int to) const;
  // Path from the side of a node up to the side of the node whose table it shares. It runs in the
  // lane left of the column if both nodes are in one column, otherwise between their columns.
  QPolygonF tie(int from, int to) const;

 private:
  QPolygonF beside(const QRectF& from, const QRectF& to, bool right, double track) const;
  int column_of(int node) const;
  int pitch() const { return metrics_.row + metrics_.gap; }
  int top_of(int node) const { return metrics_.gap + (node + 1) * pitch(); }
  ModelMetrics metrics_;
  std::vector<int> owners_;
  int columns_ = 0;
};

}  // namespace trainyard::ui
