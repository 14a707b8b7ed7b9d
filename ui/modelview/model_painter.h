// SPDX-License-Identifier: GPL-3.0-or-later
// Paints only the visible rows of a model. For a model with a thousand layers, the cost therefore
// depends only on the size of the screen.
#pragma once

#include <QPainter>

#include "ui/modelview/model_geometry.h"

namespace trainyard::ui {

struct ModelScene {
  const ModelPicture* picture = nullptr;
  const ModelGeometry* geometry = nullptr;
  QRect body;             // area of the rows in the widget, below the column headers
  QPoint scroll;          // pixels that the rows are scrolled left and up
  bool overview = false;  // true: shows all rows, as boxes without text
  const Nodes* selected = nullptr;
  int current = -1;  // node with keyboard focus
  int hovered = -1;  // node in the pointer's row
  bool focused = false;
  int target = -1;  // index of the column that would receive the dragged layers

  // Returns the top left corner of the scrolled rows, in widget coordinates.
  QPoint origin() const { return body.topLeft() - scroll; }
};

void paint_model(QPainter& painter, const ModelScene& scene);

}  // namespace trainyard::ui
