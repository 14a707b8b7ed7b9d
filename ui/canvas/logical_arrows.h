// SPDX-License-Identifier: GPL-3.0-or-later
// The logical picture of a collective on the drawing: an arrow from tile to tile for each pair of which one sends to the other, in the
// colour of who sends, the wider the more bytes it carries. Plain functions of values.
#pragma once

#include <QPainter>
#include <QPainterPath>
#include <vector>

#include "ui/canvas/layout.h"
#include "ui/model/algorithm_offers.h"

namespace trainyard::ui {

struct LogicalArrow {
  int from = 0, to = 0;  // ranks
  QPainterPath path;     // from tile to tile, the head included; the way back bends the other way
  double width = 1;      // pixels at 100 %; of very many all are hairlines without heads
};

// The widest last, so that it lies above the others. Devices that are not in the layout any more have none.
std::vector<LogicalArrow> logical_arrows(const Layout& layout, const LogicalPicture& picture);

void paint_logical(QPainter& painter, const std::vector<LogicalArrow>& arrows);

}  // namespace trainyard::ui
