// SPDX-License-Identifier: GPL-3.0-or-later
// The logical picture of a collective on the drawing: an arrow from tile to tile for each pair of
// which one sends to the other, in the colour of who sends, the wider the more bytes it carries.
// Plain functions of values.
#pragma once

#include <QPainter>
#include <QPainterPath>
#include <vector>

#include "ui/canvas/layout.h"
#include "ui/model/algorithm_offers.h"

namespace trainyard::ui {

struct LogicalArrow {
  int from = 0, to = 0;  // ranks
  QPainterPath path;  // one curve, from the border of a tile to that of another, the head included;
                      // the way back bends the other way
  double width = 1;   // pixels at 100 %; of very many all are hairlines without heads
};

// The widest last, so that it lies above the others. Devices that are not in the layout any more
// have none.
std::vector<LogicalArrow> logical_arrows(const Layout& layout, const LogicalPicture& picture);

// Of `area` what lies beside the tiles: there an arrow hides nothing.
QPainterPath outside_tiles(const Layout& layout, const QRectF& area);

// Arrows pass beneath tiles that stand in their way, and come out again `outside`; threads, which
// are faint, pass over them.
void paint_logical(QPainter& painter, const std::vector<LogicalArrow>& arrows,
                   const QPainterPath& outside);

}  // namespace trainyard::ui
