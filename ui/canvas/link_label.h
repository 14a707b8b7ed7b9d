// SPDX-License-Identifier: GPL-3.0-or-later
// Label on the middle of a link: its drawn speed, and its traffic while bytes flow.
#pragma once

#include <QStringList>

#include "ui/canvas/painting.h"

namespace trainyard::ui {

struct LinkLabel {
  QStringList lines;      // empty: no label
  bool measured = false;  // the first line is measured: the bytes per second of both directions
  QRectF rect;
};

// Returns as much text as leaves the line visible, or all text if the link is selected or hovered.
// Measured traffic is shown on any line that is longer than its text. The label of a link inside a
// host is shown only if the link is selected or hovered.
LinkLabel link_label(const LinkShape& shape, const LinkAppearance& look);
void paint_link_label(QPainter& painter, const LinkLabel& label, bool selected);

}  // namespace trainyard::ui
