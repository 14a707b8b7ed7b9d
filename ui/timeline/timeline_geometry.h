// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of a timeline in pixels of the widget: time to the right, ranks and their lanes below
// each other. Pure.
#pragma once

#include <QRect>
#include <QString>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ui/model/spans/span_pieces.h"
#include "ui/model/spans/span_store.h"

namespace trainyard::ui {

inline constexpr int kMinGap = 10;  // minimum distance of a ruler's ticks in pixels

// Functions that change the visible range of time. Each range is at least 100 ns wide and lies
// within `home`.
inline constexpr Nanoseconds kNarrowest = 100;
TimeRange home_of(const TimeRange& extent);  // Returns the full range, with a margin.
TimeRange within_home(const TimeRange& view, const TimeRange& home);
TimeRange zoomed(const TimeRange& view, double fraction,
                 double factor);  // zooms; the time at `fraction` of the width stays in place
// moves the view by that fraction of its width
TimeRange panned(const TimeRange& view, double fraction);
TimeRange ending_at(const TimeRange& view, Nanoseconds end);

struct TimeTick {
  Nanoseconds at = 0;
  // Time since the start of the run. It has only the decimals that distinguish it from the next
  // tick: "12.3456 s".
  QString label;
};
std::vector<TimeTick> time_ticks(const TimeRange& view, int about);

// Address of a span in a store. Track -1 is the track on which all spans of the lane are joined.
struct SpanAddress {
  int rank = -1, lane = 0, track = 0;
  std::size_t number = 0;
  bool operator==(const SpanAddress&) const = default;
};
const SpanTrack* track_at(const SpanStore& store,
                          const SpanAddress& place);  // null if there is none
const OpSpan* span_at(const SpanStore& store,
                      const SpanAddress& place);  // null if there is none, or it was dropped

struct LaneRow {
  int rank = 0, lane = 0;
  int top = 0, height = 0;  // position in the body, before scrolling
};

// Layout of the displayed lanes, grouped by rank.
class TimelineRows {
 public:
  struct Extent {
    int top = 0, bottom = 0;
  };
  void lay_out(const SpanStore& store, int lane_height, int gap);
  const std::vector<LaneRow>& rows() const { return rows_; }
  int height() const { return height_; }
  // returns the nearest row if there is a gap at y; -1 if there are no rows
  int row_at(int y) const;
  int row_of(int rank, int lane) const;  // -1 if not shown
  Extent rank_block(int rank) const;     // empty if the rank has no row
 private:
  std::vector<LaneRow> rows_;
  int height_ = 0;
};

// Returns the number of tracks of a lane that are drawn below each other. If there is not enough
// room, returns 0, and the joined track is drawn.
int drawn_tracks(const SpanLane& lane, int height);
QRect track_rect(const QRect& row, int tracks, int track);  // track: index below `tracks`

// Selects the spans that are shown while a view is frozen: those that existed when it was frozen.
class FrozenSpans {
 public:
  void hold(const SpanStore& store);
  void release() { ends_.reset(); }
  bool holds() const { return ends_.has_value(); }
  std::size_t end(const SpanTrack& track) const;  // one past the last span shown

 private:
  std::optional<std::unordered_map<const SpanTrack*, std::size_t>> ends_;
};

}  // namespace trainyard::ui
