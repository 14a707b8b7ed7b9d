// SPDX-License-Identifier: GPL-3.0-or-later
// Colors for the activity of ranks, from the theme: the colors that charts use for the components
// of a step, and shades of these.
#pragma once

#include <QColor>
#include <QString>
#include <array>

#include "ui/model/spans/op_names.h"

namespace trainyard::ui {

struct TimelineColors {
  std::array<QColor, kSpanKinds> kinds;
  QColor waiting, held, ground, stripe, line, text, dim, accent, selection;
  const QColor& of(SpanKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};
TimelineColors timeline_colors();

// Returns the color of text on the background `ground`: the theme's text color, or its opposite if
// that has the better contrast.
QColor text_on(const QColor& ground);

QString span_kind_text(SpanKind kind);  // "backward"
QString waiting_text();                 // text for waiting for a peer
QString held_text();                    // text for being held back by an imposed slowdown

}  // namespace trainyard::ui
