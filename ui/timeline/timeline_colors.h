// SPDX-License-Identifier: GPL-3.0-or-later
// Colors of ranks' activity, from the theme: those that the charts use for the parts of a step, and
// shades of them.
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

// Returns the theme's text color or its opposite, whichever has the better contrast with that
// background.
QColor text_on(const QColor& ground);

QString span_kind_text(SpanKind kind);  // "backward"
QString waiting_text();                 // text for waiting for a peer
QString held_text();                    // text for being held back by an imposed slowdown

}  // namespace trainyard::ui
