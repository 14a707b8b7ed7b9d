// SPDX-License-Identifier: GPL-3.0-or-later
// Navigation between ops of a timeline: the op at a position, the next op of a lane, the concurrent
// op on another lane. Pure.
#pragma once

#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

enum class Walk { previous, next, first, last };

// Returns the next op on the same lane in order of begin; nothing if there is none.
std::optional<SpanAddress> walk(const SpanStore& store, const FrozenSpans& held,
                                const SpanAddress& from, Walk way);
// Returns the op of a lane that runs at `time`, or else the nearest one; nothing if the lane is
// empty.
std::optional<SpanAddress> nearest(const SpanStore& store, const FrozenSpans& held, int rank,
                                   int lane, Nanoseconds time);
// Returns the op on the track of `place` within `tolerance` of `time`, preferring an op that runs
// at `time`. Track -1 is the track with all ops of the lane.
std::optional<SpanAddress> span_near(const SpanStore& store, const FrozenSpans& held,
                                     const SpanAddress& place, Nanoseconds time,
                                     Nanoseconds tolerance);

// Returns the last push of a rank that began up to `time`; nothing if none is stored.
std::optional<SpanAddress> push_before(const SpanStore& store, int rank, Nanoseconds time);

}  // namespace trainyard::ui
