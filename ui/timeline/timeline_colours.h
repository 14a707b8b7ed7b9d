// SPDX-License-Identifier: GPL-3.0-or-later
// Colours of what ranks do, from the theme: those that the parts of a step have on the charts, and
// shades of them.
#pragma once

#include <QColor>
#include <QString>
#include <array>

#include "ui/model/op_names.h"

namespace trainyard::ui {

struct TimelineColours {
  std::array<QColor, kSpanKinds> kinds;
  QColor waiting, held, ground, stripe, line, text, dim, accent, selection;
  const QColor& of(SpanKind kind) const { return kinds[static_cast<std::size_t>(kind)]; }
};
TimelineColours timeline_colours();

// Of text on that ground: the theme's text or its opposite, whichever reads better.
QColor text_on(const QColor& ground);

QString kind_words(SpanKind kind);  // "backward"
QString waiting_words();            // for a peer
QString held_words();               // back, by what is imposed

}  // namespace trainyard::ui
