// SPDX-License-Identifier: GPL-3.0-or-later
// Text about an op of a timeline with exact values, for the read-out under the pointer, the line
// below the timeline, and screen readers.
#pragma once

#include <QStringList>

#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

QString exact_time(Nanoseconds time);  // time to the nanosecond: "12.345678 ms"
QString percent(double share);         // "61 %"; "<1 %" for small nonzero values

// Returns the name of a span on a lane: the token of its op; on the lane of buckets, that of its
// collective.
QString title_of(const RankNames& names, int lane, const OpSpan& span);

struct SpanText {
  QString title;      // "RED.b0.t0.c2<r2"
  QStringList lines;  // labeled values, one per line
  QString sentence() const { return title + ": " + lines.join("; "); }
};
SpanText span_text(const SpanStore& store, const telemetry::History& history,
                   const SpanAddress& place);
// Describes several spans that are merged because they are in the same column of pixels.
SpanText span_text(const SpanStore& store, const SpanAddress& first, const SpanPiece& merged);

}  // namespace trainyard::ui
