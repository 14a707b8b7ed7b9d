// SPDX-License-Identifier: GPL-3.0-or-later
// From op to op of a timeline: what lies at a place, what comes next on a lane, what runs at the
// same time on another. Pure.
#pragma once

#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

enum class Walk { previous, next, first, last };

// On the same lane, by begin; nothing where there is none.
std::optional<SpanPlace> walk(const SpanStore& store, const HeldSpans& held, const SpanPlace& from,
                              Walk way);
// The op of a lane that runs at `time`, or else is nearest to it; nothing on an empty lane.
std::optional<SpanPlace> nearest(const SpanStore& store, const HeldSpans& held, int rank, int lane,
                                 Nanoseconds time);
// The op on the track of that place that is no further than `tolerance` from `time`: the one that
// runs then before others. Track -1 is the joined one.
std::optional<SpanPlace> span_near(const SpanStore& store, const HeldSpans& held,
                                   const SpanPlace& place, Nanoseconds time, Nanoseconds tolerance);

// The last push of a rank that had begun by then; nothing where none is held (any more).
std::optional<SpanPlace> push_before(const SpanStore& store, int rank, Nanoseconds time);

}  // namespace trainyard::ui
