// SPDX-License-Identifier: GPL-3.0-or-later
// Consecutive ops of one lane that do not overlap, so that begins and ends are both in ascending
// order. Sums of times by kind are stored for every 16th span. The times within any range are
// therefore computed by a search and a few additions. The index of a span counts from the start of
// the run and does not change when earlier spans are dropped.
#pragma once

#include <cstddef>
#include <deque>

#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

class SpanTrack {
 public:
  static constexpr std::size_t kBlock = 16;

  bool takes(const OpSpan& span) const { return spans_.empty() || span.begin >= spans_.back().end; }
  void append(const OpSpan& span);  // requires that `takes` returns true for the span
  // Appends a span. If it overlaps the last spans of the track, it is merged with them.
  void join(OpSpan span);
  void drop_block();  // drops the first 16 spans
  bool may_forget() const { return spans_.size() > 2 * kBlock; }

  std::size_t first() const { return forgotten_; }
  std::size_t end() const { return forgotten_ + spans_.size(); }
  std::size_t size() const { return spans_.size(); }
  const OpSpan& operator[](std::size_t number) const { return spans_[number - forgotten_]; }

  // Return the index of the first span with this property before index `limit`, or `limit` if there
  // is none.
  std::size_t first_ending_after(Nanoseconds time, std::size_t limit) const;
  // Searches from index `from` on, which is fast if the result is near.
  std::size_t first_beginning_from(Nanoseconds time, std::size_t from, std::size_t limit) const;

  // Returns the sum of the times of the spans with indices [begin, end). Each span counts fully.
  SpanTimes times_of(std::size_t begin, std::size_t end) const;
  SpanTimes times_within(const TimeRange& range,
                         // Returns the sum of the times inside the range, for spans with an index
                         // below `limit`.
                         std::size_t limit) const;

 private:
  SpanTimes sum_before(std::size_t number) const;
  SpanTimes times_until(Nanoseconds time, std::size_t limit) const;

  std::deque<OpSpan> spans_;
  std::deque<SpanTimes> sums_;  // element i: sum of spans with an index below forgotten_ + 16 i
  std::size_t forgotten_ = 0;   // number of dropped spans, a multiple of 16
};

}  // namespace trainyard::ui
