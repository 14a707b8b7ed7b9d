// SPDX-License-Identifier: GPL-3.0-or-later
// Where things stand on a timeline, in pixels of the widget: time to the right, below each other
// the ranks and their lanes. Pure.
#pragma once

#include <QRect>
#include <QString>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ui/model/span_pieces.h"
#include "ui/model/span_store.h"

namespace trainyard::ui {

inline constexpr int kLeastApart = 10;  // pixels from one mark of a ruler to the next

// Views of time. None is narrower than 100 ns, nor wider than `home`, nor lies outside of it.
inline constexpr Nanoseconds kNarrowest = 100;
TimeRange home_of(const TimeRange& extent);  // all of it, with a margin
TimeRange within_home(const TimeRange& view, const TimeRange& home);
TimeRange zoomed(const TimeRange& view, double fraction,
                 double factor);  // what is at `fraction` of the width stays there
TimeRange panned(const TimeRange& view, double fraction);  // by that part of its width
TimeRange ending_at(const TimeRange& view, Nanoseconds end);

struct TimeTick {
  Nanoseconds at = 0;
  QString label;  // since the start of the run, with just the decimals that tell it from the next:
                  // "12.3456 s"
};
std::vector<TimeTick> time_ticks(const TimeRange& view, int about);

// A span of a store. Track -1: the lane's joined one.
struct SpanPlace {
  int rank = -1, lane = 0, track = 0;
  std::size_t number = 0;
  bool operator==(const SpanPlace&) const = default;
};
const SpanTrack* track_at(const SpanStore& store,
                          const SpanPlace& place);  // null where there is none
const OpSpan* span_at(const SpanStore& store,
                      const SpanPlace& place);  // null where it is not (any more)

struct LaneRow {
  int rank = 0, lane = 0;
  int top = 0, height = 0;  // in the body, before it is scrolled
};

// Lanes of all ranks, those of one rank together, as they are to be shown.
class TimelineRows {
 public:
  struct Extent {
    int top = 0, bottom = 0;
  };
  void lay_out(const SpanStore& store, int lane_height, int gap);
  const std::vector<LaneRow>& rows() const { return rows_; }
  int height() const { return height_; }
  int row_at(int y) const;  // the row there; the nearest one in a gap; -1 when there are none
  int row_of(int rank, int lane) const;  // -1 when it is not shown
  Extent rank_block(int rank) const;     // empty when it has no row
 private:
  std::vector<LaneRow> rows_;
  int height_ = 0;
};

// How many tracks of a lane are drawn below each other; 0: the joined one is, for there is no room
// for so many.
int drawn_tracks(const SpanLane& lane, int height);
QRect track_rect(const QRect& row, int tracks, int track);  // of one of so many

// What stands still while a view is frozen: spans that were there by then.
class HeldSpans {
 public:
  void hold(const SpanStore& store);
  void let_go() { ends_.reset(); }
  bool holds() const { return ends_.has_value(); }
  std::size_t end(const SpanTrack& track) const;  // past the last span of it that is shown

 private:
  std::optional<std::unordered_map<const SpanTrack*, std::size_t>> ends_;
};

}  // namespace trainyard::ui
