// SPDX-License-Identifier: GPL-3.0-or-later
// Geometry of a timeline in pixels of the widget. Time increases to the right; ranks and their
// lanes are below each other. Pure.
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

// Functions that change the visible range of time. Every range that they return is at least 100 ns
// wide and lies within `home`.
inline constexpr Nanoseconds kNarrowest = 100;
TimeRange home_of(const TimeRange& extent);  // Returns the full range, with a margin.
TimeRange within_home(const TimeRange& view, const TimeRange& home);
TimeRange zoomed(const TimeRange& view, double fraction,
                 double factor);  // zooms; the time at `fraction` of the width stays in place
// Returns the visible range, moved by `fraction` of its width.
TimeRange panned(const TimeRange& view, double fraction);
TimeRange ending_at(const TimeRange& view, Nanoseconds end);

struct TimeTick {
  Nanoseconds at = 0;
  // Label of the tick: the time since the start of the run, "12.3456 s". It has only as many
  // decimals as needed to distinguish consecutive ticks.
  QString label;
};
std::vector<TimeTick> time_ticks(const TimeRange& view, int about);

// Address of a span in a store. A lane has one or more tracks. Track -1 contains the spans of all
// tracks of the lane, joined.
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

// Vertical positions of the displayed lanes, which are grouped by rank.
class TimelineRows {
 public:
  struct Extent {
    int top = 0, bottom = 0;
  };
  void lay_out(const SpanStore& store, int lane_height, int gap);
  const std::vector<LaneRow>& rows() const { return rows_; }
  int height() const { return height_; }
  // Returns the index of the row (lane) at y, or of the nearest one if y is between rows; -1 if
  // there are no rows.
  int row_at(int y) const;
  int row_of(int rank, int lane) const;  // index of the row of a lane; -1 if it is not shown
  Extent rank_block(int rank) const;     // top and bottom of the rank's rows; empty if it has none
 private:
  std::vector<LaneRow> rows_;
  int height_ = 0;
};

// Returns how many tracks of a lane are drawn below each other. If there is no room for all of
// them, returns 0: the joined track is drawn instead.
int drawn_tracks(const SpanLane& lane, int height);
QRect track_rect(const QRect& row, int tracks, int track);  // track: index below `tracks`

// Limits a frozen view to the spans that existed when it was frozen.
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
