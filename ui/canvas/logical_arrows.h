// SPDX-License-Identifier: GPL-3.0-or-later
// Logical topology of a collective on the drawing: an arrow from tile to tile for each pair with
// traffic, in the sender's color. The width grows with the bytes. Plain functions of values.
#pragma once

#include <QPainter>
#include <QPainterPath>
#include <vector>

#include "ui/canvas/layout.h"
#include "ui/model/plan/algorithm_offers.h"

namespace trainyard::ui {

struct LogicalArrow {
  int from = 0, to = 0;  // ranks of sender and receiver
  // curve from the border of one tile to that of another, including the head; the arrow in the
  // opposite direction bends to the other side
  QPainterPath path;
  double width = 1;  // pixels at 100 %; unused for hairlines
};

// Returns the arrows, the widest last, so that it is painted on top. Devices that are no longer in
// the layout have no arrows.
std::vector<LogicalArrow> logical_arrows(const Layout& layout, const LogicalTopology& picture);

// Returns the region of `area` outside of all tiles. Arrows painted there hide no tile.
QPainterPath outside_tiles(const Layout& layout, const QRectF& area);

// Paints the arrows clipped to `outside`, so that they pass beneath tiles. A large number of arrows
// is painted as hairlines. Hairlines are not clipped, because they are too faint to hide a tile.
void paint_logical(QPainter& painter, const std::vector<LogicalArrow>& arrows,
                   const QPainterPath& outside);

}  // namespace trainyard::ui
