// SPDX-License-Identifier: GPL-3.0-or-later
// What a timeline says of an op, exactly: for the read-out, the line below and screen readers.
#pragma once

#include <QStringList>

#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

QString exact_time(Nanoseconds time);  // to the nanosecond: "12.345678 ms"
QString percent(double share);         // "61 %", and "<1 %" of what is there

// What a span of that lane is called: its op's token, or that of the collective it is a piece of.
QString title_of(const RankNames& names, int lane, const OpSpan& span);

struct SpanWords {
  QString title;      // "RED.b0.t0.c2<r2"
  QStringList lines;  // each a figure with its words
  QString sentence() const { return title + ": " + lines.join("; "); }
};
SpanWords words_of(const SpanStore& store, const telemetry::History& history,
                   const SpanPlace& place);
// Of several that share a column of pixels.
SpanWords words_of(const SpanStore& store, const SpanPlace& first, const SpanPiece& merged);

}  // namespace trainyard::ui
