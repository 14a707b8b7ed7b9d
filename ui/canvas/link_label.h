// SPDX-License-Identifier: GPL-3.0-or-later
// Label on the middle of a link: its drawn speed, and its traffic while bytes flow.
#pragma once

#include <QStringList>

#include "ui/canvas/painting.h"

namespace trainyard::ui {

struct LinkLabel {
  QStringList lines;  // empty: no label
  // True if the first line is a measured rate: the bytes per second of both directions together.
  bool measured = false;
  QRectF rect;
};

// Returns the label of a link. If the link is selected or hovered, the label has all text.
// Otherwise the text is shortened so that the link's line stays visible; measured traffic is shown
// if the line is longer than its text. A link inside a host then has a label only if it is cut or
// slowed.
LinkLabel link_label(const LinkShape& shape, const LinkAppearance& look);
void paint_link_label(QPainter& painter, const LinkLabel& label, bool selected);

}  // namespace trainyard::ui
