// SPDX-License-Identifier: GPL-3.0-or-later
// What stands on the middle of a link: its drawn speed, and what crosses it while bytes flow.
#pragma once

#include <QStringList>

#include "ui/canvas/painting.h"

namespace trainyard::ui {

struct LinkLabel {
  QStringList lines;      // none: the link goes without
  bool measured = false;  // the first line is: the bytes of both ways together, each second
  QRectF rect;
};

// As much as the line has room for, so that it is still seen; everything where it is asked about.
// Bytes that flow are told on any line that is longer than their words. What links two devices of a
// host has no room, and is told when asked about.
LinkLabel link_label(const LinkShape& shape, const LinkLook& look);
void paint_link_label(QPainter& painter, const LinkLabel& label, bool selected);

}  // namespace trainyard::ui
