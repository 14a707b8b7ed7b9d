// SPDX-License-Identifier: GPL-3.0-or-later
// Navigation between ops of a timeline: to the op at a position, to the next op of a lane, and to
// the op at the same time on another lane. Pure.
#pragma once

#include "ui/timeline/timeline_geometry.h"

namespace trainyard::ui {

enum class Walk { previous, next, first, last };

// Returns the op that is first, last, or before or after `from` on the same lane, in order of
// begin; nothing if there is none.
std::optional<SpanAddress> walk(const SpanStore& store, const FrozenSpans& held,
                                const SpanAddress& from, Walk way);
// Returns the op of a lane that runs at `time`. If none does, returns the op nearest in time.
// Returns nothing if the lane is empty.
std::optional<SpanAddress> nearest(const SpanStore& store, const FrozenSpans& held, int rank,
                                   int lane, Nanoseconds time);
// Returns an op on the track of `place` that runs at `time`. If none does, returns one within
// `tolerance` of `time`. Track -1 contains all ops of the lane.
std::optional<SpanAddress> span_near(const SpanStore& store, const FrozenSpans& held,
                                     const SpanAddress& place, Nanoseconds time,
                                     Nanoseconds tolerance);

// Returns the last push of a rank that began at or before `time`; nothing if none is stored.
std::optional<SpanAddress> push_before(const SpanStore& store, int rank, Nanoseconds time);

}  // namespace trainyard::ui
