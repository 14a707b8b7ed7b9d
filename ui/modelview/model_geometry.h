// SPDX-License-Identifier: GPL-3.0-or-later
// Where things stand in the model view, in pixels: below each other what the model is made of, from
// its input to its loss; beside each other who has it, and then the figures. Before it is scrolled,
// without the head. Pure.
#pragma once

#include <QPoint>
#include <QPolygonF>
#include <QRect>
#include <array>
#include <vector>

#include "ui/modelview/model_words.h"

namespace trainyard::ui {

// Lengths that follow the letters.
struct ModelMetrics {
  int gutter = 0;            // left of the columns: names of groups; 0: there are none
  int row = 0, gap = 0;      // height of a node, and to the next one
  int column = 0, lane = 0;  // width of a column, and in it beside a node, on either side
  int head = 0;              // height of what stands above the rows
  std::array<int, kFigures> figures = {};  // widths; 0: not shown
  int kept = 0;                            // likewise, of who keeps the parameters
};

struct RowSpan {
  int first = 0, last = -1;
};

class ModelGeometry {
 public:
  ModelGeometry() = default;
  ModelGeometry(const ModelPicture& picture, const ModelMetrics& metrics);

  const ModelMetrics& metrics() const { return metrics_; }
  QSize whole() const;                          // of the rows
  QRect node_rect(int node) const;              // -1: the input, and after the last node the loss
  QRect row_rect(int node) const;               // across everything
  QRect column_rect(int column) const;          // along all rows
  QRect group_rect(int first, int last) const;  // across everything
  QRect figure_rect(int node, int figure) const;
  QRect kept_rect(int node) const;
  int node_at(const QPoint& at) const;  // whose box is there; -1: none
  int row_at(int y) const;              // the node beside which y is, as in node_rect
  int column_at(int x) const;           // -1: none
  RowSpan rows_between(int top, int bottom) const;

  // From a node to the next row, across columns where they differ.
  QPolygonF step(int node) const;
  // From beside a node down to beside a later one that adds it: in one column in the lane right of
  // it, else in the lane towards the other.
  QPolygonF addition(int from, int to) const;
  // From beside a node up to the one whose table it learns: likewise, in one column in the lane to
  // the left.
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
