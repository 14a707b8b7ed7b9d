// SPDX-License-Identifier: GPL-3.0-or-later
// Paints a model picture: what is seen of it, and no more, so a model of a thousand layers costs
// what fits the screen.
#pragma once

#include <QPainter>

#include "ui/modelview/model_geometry.h"

namespace trainyard::ui {

struct ModelScene {
  const ModelPicture* picture = nullptr;
  const ModelGeometry* geometry = nullptr;
  QRect body;             // of the widget: where the rows are, below the head
  QPoint scroll;          // pixels that the rows are scrolled left and up
  bool overview = false;  // everything at once: boxes without words
  const Nodes* selected = nullptr;
  int current = -1;  // the node that keys go on from
  int hovered = -1;  // the node beside which the pointer is
  bool focused = false;
  int target = -1;  // the column that would be given what is dragged

  QPoint origin() const { return body.topLeft() - scroll; }  // of the rows, in the widget
};

void paint_model(QPainter& painter, const ModelScene& scene);

}  // namespace trainyard::ui
