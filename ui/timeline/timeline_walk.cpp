// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_walk.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace trainyard::ui {
namespace {

// Sort key for the order in which keys visit the ops of a lane: by begin, then by track.
std::tuple<Nanoseconds, int> order_of(const OpSpan& span, int track) { return {span.begin, track}; }

Nanoseconds distance(const OpSpan& span, Nanoseconds time) {
  return time < span.begin ? span.begin - time : time < span.end ? 0 : time - span.end;
}

// Returns the index of the first op of a track after the position `from` if `onwards`, otherwise
// that of the last op before it.
std::optional<std::size_t> step_on(const SpanTrack& track, std::size_t limit, int number,
                                   const std::tuple<Nanoseconds, int>& from, bool onwards) {
  std::size_t at = track.first_beginning_from(std::get<0>(from), track.first(), limit);
  while (at < limit && order_of(track[at], number) < from) ++at;
  if (!onwards) return at > track.first() ? std::optional(at - 1) : std::nullopt;
  while (at < limit && order_of(track[at], number) <= from) ++at;
  return at < limit ? std::optional(at) : std::nullopt;
}

// Returns the sort key from which the search for the next op starts. For the first or last op, the
// key is before or after those of all ops.
std::tuple<Nanoseconds, int> start_of(const SpanAddress& from, const OpSpan& span, Walk way) {
  constexpr Nanoseconds kBeyond = std::numeric_limits<Nanoseconds>::max();
  if (way == Walk::first) return {-kBeyond, -1};
  if (way == Walk::last) return {kBeyond, 0};
  return order_of(span, from.track);
}

// True if both spans are pieces of the same collective: that of one bucket in one step.
bool same_collective(const SpanStore& store, const SpanAddress& a, const SpanAddress& b) {
  const OpSpan &one = *span_at(store, a), &other = *span_at(store, b);
  return store.names(a.rank).is_bucket_lane(a.lane) && one.step == other.step &&
         one.program == other.program && one.op == other.op;
}

std::optional<SpanAddress> walk_span(const SpanStore& store, const FrozenSpans& held,
                                     const SpanAddress& from, Walk way) {
  const OpSpan* span = span_at(store, from);
  if (!span) return {};
  const auto start = start_of(from, *span, way);
  const bool onwards = way == Walk::next || way == Walk::first;
  std::optional<SpanAddress> found;
  const auto& tracks = store.lane(from.rank, from.lane).tracks();
  for (int t = 0; t < static_cast<int>(tracks.size()); ++t) {
    const SpanTrack& track = *tracks[static_cast<std::size_t>(t)];
    const auto at = step_on(track, held.end(track), t, start, onwards);
    if (!at) continue;
    const auto known =
        found ? std::optional(order_of(*span_at(store, *found), found->track)) : std::nullopt;
    if (!known || (onwards ? order_of(track[*at], t) < *known : order_of(track[*at], t) > *known))
      found = SpanAddress{from.rank, from.lane, t, *at};
  }
  return found;
}

}  // namespace

std::optional<SpanAddress> walk(const SpanStore& store, const FrozenSpans& held,
                                const SpanAddress& from, Walk way) {
  auto found = walk_span(store, held, from, way);
  if (way == Walk::first || way == Walk::last) return found;
  while (found && same_collective(store, from, *found)) found = walk_span(store, held, *found, way);
  return found;
}

std::optional<SpanAddress> span_near(const SpanStore& store, const FrozenSpans& held,
                                     const SpanAddress& place, Nanoseconds time,
                                     Nanoseconds tolerance) {
  const SpanTrack* track = track_at(store, place);
  if (!track) return {};
  const std::size_t limit = held.end(*track), after = track->first_ending_after(time, limit);
  std::optional<std::size_t> best;
  for (std::size_t at = after > track->first() ? after - 1 : after; at < limit && at <= after; ++at)
    if (distance((*track)[at], time) <= tolerance &&
        (!best || distance((*track)[at], time) < distance((*track)[*best], time)))
      best = at;
  if (!best) return {};
  return SpanAddress{place.rank, place.lane, place.track, *best};
}

std::optional<SpanAddress> nearest(const SpanStore& store, const FrozenSpans& held, int rank,
                                   int lane, Nanoseconds time) {
  std::optional<SpanAddress> best;
  const int tracks = static_cast<int>(store.lane(rank, lane).tracks().size());
  for (int t = 0; t < tracks; ++t) {
    const auto found =
        span_near(store, held, {rank, lane, t, 0}, time, std::numeric_limits<Nanoseconds>::max());
    if (found &&
        (!best || distance(*span_at(store, *found), time) < distance(*span_at(store, *best), time)))
      best = found;
  }
  return best;
}

std::optional<SpanAddress> push_before(const SpanStore& store, int rank, Nanoseconds time) {
  std::optional<SpanAddress> found;
  if (rank < 0 || rank >= store.ranks()) return found;
  const auto is_push = [&](const OpSpan& span) {
    const auto token = store.names(rank).token(span.program, span.op);
    // Excludes ops that push no gradient: a PUSH without a bucket is a request, and a RATE without
    // a micro-batch applies no update.
    return token.starts_with("PUSH.b") || token.starts_with("RATE.m");
  };
  for (int lane = 0; lane < store.lanes(rank); ++lane) {
    const auto& tracks = store.lane(rank, lane).tracks();
    for (int t = 0; t < static_cast<int>(tracks.size()); ++t) {
      const SpanTrack& track = *tracks[static_cast<std::size_t>(t)];
      std::size_t at = track.first_beginning_from(time + 1, track.first(), track.end());
      while (at > track.first() && !is_push(track[at - 1])) --at;
      if (at == track.first()) continue;
      if (!found || track[at - 1].begin > span_at(store, *found)->begin)
        found = SpanAddress{rank, lane, t, at - 1};
    }
  }
  return found;
}

}  // namespace trainyard::ui
