// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_geometry.h"

#include <QLocale>
#include <algorithm>
#include <cmath>

namespace trainyard::ui {
namespace {

constexpr int kMinTrack = 3;  // minimum height of a track in pixels, with its separator

Nanoseconds of_width(const TimeRange& view, double fraction) {
  return static_cast<Nanoseconds>(std::llround(fraction * static_cast<double>(view.width())));
}

// Returns the distance of ticks on a time axis: 1, 2 or 5 times a power of ten nanoseconds, so that
// there are about `about` ticks.
Nanoseconds tick_interval(Nanoseconds width, int about) {
  const Nanoseconds rough = std::max<Nanoseconds>(width / std::max(about, 1), 1);
  for (Nanoseconds power = 1;; power *= 10)
    for (const Nanoseconds digit : {1, 2, 5})
      if (digit * power >= rough) return digit * power;
}

QString tick_label(Nanoseconds at, Nanoseconds interval, Nanoseconds greatest) {
  static constexpr std::pair<Nanoseconds, const char*> kUnits[] = {
      {1'000'000'000, "s"}, {1'000'000, "ms"}, {1000, "µs"}, {1, "ns"}};
  for (const auto& [unit, name] : kUnits) {
    if (unit > std::max<Nanoseconds>(greatest, 1)) continue;
    int decimals = 0;
    for (Nanoseconds step = unit; step > interval; step /= 10) ++decimals;
    return QLocale::c().toString(static_cast<double>(at) / static_cast<double>(unit), 'f',
                                 decimals) +
           " " + QString::fromUtf8(name);
  }
  return "0 s";
}

}  // namespace

TimeRange home_of(const TimeRange& extent) {
  const Nanoseconds width = std::max(extent.width(), kNarrowest), margin = width / 100 + 1;
  return {extent.begin - margin, extent.begin + width + margin};
}

TimeRange within_home(const TimeRange& view, const TimeRange& home) {
  const Nanoseconds width =
      std::clamp(view.width(), std::min(kNarrowest, home.width()), home.width());
  const Nanoseconds begin = std::clamp(view.begin, home.begin, home.end - width);
  return {begin, begin + width};
}

TimeRange zoomed(const TimeRange& view, double fraction, double factor) {
  const Nanoseconds width = std::max(of_width(view, factor), kNarrowest);
  const Nanoseconds begin =
      view.begin + of_width(view, fraction) -
      static_cast<Nanoseconds>(std::llround(fraction * static_cast<double>(width)));
  return {begin, begin + width};
}

TimeRange panned(const TimeRange& view, double fraction) {
  const Nanoseconds by = of_width(view, fraction);
  return {view.begin + by, view.end + by};
}

TimeRange ending_at(const TimeRange& view, Nanoseconds end) { return {end - view.width(), end}; }

std::vector<TimeTick> time_ticks(const TimeRange& view, int about) {
  std::vector<TimeTick> ticks;
  if (view.width() <= 0) return ticks;
  const Nanoseconds interval = tick_interval(view.width(), about),
                    greatest = std::max(std::abs(view.begin), std::abs(view.end));
  Nanoseconds at = view.begin / interval * interval;
  for (at += at < view.begin ? interval : 0; at <= view.end; at += interval)
    ticks.push_back({at, tick_label(at, interval, greatest)});
  return ticks;
}

const SpanTrack* track_at(const SpanStore& store, const SpanAddress& place) {
  if (place.rank < 0 || place.rank >= store.ranks() || place.lane < 0 ||
      place.lane >= store.lanes(place.rank))
    return nullptr;
  const SpanLane& lane = store.lane(place.rank, place.lane);
  if (lane.empty() || place.track >= static_cast<int>(lane.tracks().size())) return nullptr;
  return place.track < 0 ? &lane.joined()
                         : lane.tracks()[static_cast<std::size_t>(place.track)].get();
}

const OpSpan* span_at(const SpanStore& store, const SpanAddress& place) {
  const SpanTrack* track = track_at(store, place);
  return track && place.number >= track->first() && place.number < track->end()
             ? &(*track)[place.number]
             : nullptr;
}

void TimelineRows::lay_out(const SpanStore& store, int lane_height, int gap) {
  rows_.clear();
  int top = gap;
  for (int rank = 0; rank < store.ranks(); ++rank) {
    for (const int lane : store.names(rank).shown) {
      if (lane == 0 && store.lane(rank, lane).empty()) continue;
      rows_.push_back({rank, lane, top, lane_height});
      top += lane_height;
    }
    top += gap;
  }
  height_ = rows_.empty() ? 0 : top;
}

int TimelineRows::row_at(int y) const {
  const auto below = std::partition_point(
      rows_.begin(), rows_.end(), [y](const LaneRow& row) { return row.top + row.height <= y; });
  return below == rows_.end() ? static_cast<int>(rows_.size()) - 1
                              : static_cast<int>(below - rows_.begin());
}

int TimelineRows::row_of(int rank, int lane) const {
  const auto at = std::ranges::find_if(
      rows_, [&](const LaneRow& row) { return row.rank == rank && row.lane == lane; });
  return at == rows_.end() ? -1 : static_cast<int>(at - rows_.begin());
}

TimelineRows::Extent TimelineRows::rank_block(int rank) const {
  const auto first = std::partition_point(rows_.begin(), rows_.end(),
                                          [rank](const LaneRow& row) { return row.rank < rank; });
  const auto end = std::partition_point(first, rows_.end(),
                                        [rank](const LaneRow& row) { return row.rank == rank; });
  return first == end ? Extent{} : Extent{first->top, (end - 1)->top + (end - 1)->height};
}

int drawn_tracks(const SpanLane& lane, int height) {
  const int tracks = static_cast<int>(lane.tracks().size());
  return tracks <= 1 || height >= tracks * kMinTrack ? tracks : 0;
}

QRect track_rect(const QRect& row, int tracks, int track) {
  if (tracks <= 1) return row;
  const int top = row.height() * track / tracks, bottom = row.height() * (track + 1) / tracks;
  return {row.left(), row.top() + top, row.width(), std::max(bottom - top - 1, 1)};
}

void FrozenSpans::hold(const SpanStore& store) {
  ends_.emplace();
  for (int rank = 0; rank < store.ranks(); ++rank)
    for (int l = 0; l < store.lanes(rank); ++l) {
      const SpanLane& lane = store.lane(rank, l);
      for (const auto& track : lane.tracks()) (*ends_)[track.get()] = track->end();
      if (!lane.empty()) (*ends_)[&lane.joined()] = lane.joined().end();
    }
}

std::size_t FrozenSpans::end(const SpanTrack& track) const {
  if (!ends_) return track.end();
  const auto held = ends_->find(&track);
  return held == ends_->end() ? track.first()
                              : std::clamp(held->second, track.first(), track.end());
}

}  // namespace trainyard::ui
