// SPDX-License-Identifier: GPL-3.0-or-later
// Label on the middle of a link: its drawn speed, and its traffic while bytes flow.
#pragma once

#include <QStringList>

#include "ui/canvas/painting.h"

namespace trainyard::ui {

struct LinkLabel {
  QStringList lines;  // empty: no label
  // the first line is a measurement: the bytes per second of both directions together
  bool measured = false;
  QRectF rect;
};

// Returns the label of a link. If the link is selected or hovered, the label has all text.
// Otherwise its text is shortened so that the line stays visible, and a link inside a host has no
// label. Measured traffic is shown on any line that is longer than its text.
LinkLabel link_label(const LinkShape& shape, const LinkAppearance& look);
void paint_link_label(QPainter& painter, const LinkLabel& label, bool selected);

}  // namespace trainyard::ui
