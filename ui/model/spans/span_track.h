// SPDX-License-Identifier: GPL-3.0-or-later
// Consecutive, non-overlapping ops: begins and ends are both in ascending order. Sums by kind are
// stored at every 16th span, so the times of any range cost one search and a few additions. Spans
// are numbered from the start of the run, also after the first are dropped.
#pragma once

#include <cstddef>
#include <deque>

#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

class SpanTrack {
 public:
  static constexpr std::size_t kBlock = 16;

  bool takes(const OpSpan& span) const { return spans_.empty() || span.begin >= spans_.back().end; }
  void append(const OpSpan& span);  // the track must accept it (`takes`)
  // Appends a span and merges it with those at the end that it overlaps.
  void join(OpSpan span);
  void drop_block();  // drops the first 16 spans
  bool may_forget() const { return spans_.size() > 2 * kBlock; }

  std::size_t first() const { return forgotten_; }
  std::size_t end() const { return forgotten_ + spans_.size(); }
  std::size_t size() const { return spans_.size(); }
  const OpSpan& operator[](std::size_t number) const { return spans_[number - forgotten_]; }

  // Return span numbers in [first, end), or `limit` if no span before it matches.
  std::size_t first_ending_after(Nanoseconds time, std::size_t limit) const;
  std::size_t first_beginning_from(Nanoseconds time, std::size_t from,
                                   std::size_t limit) const;  // faster near `from`

  SpanTimes times_of(std::size_t begin, std::size_t end) const;  // sum over full spans
  SpanTimes times_within(const TimeRange& range,
                         // sum over the parts inside the range, for spans before `limit`
                         std::size_t limit) const;

 private:
  SpanTimes sum_before(std::size_t number) const;
  SpanTimes times_until(Nanoseconds time, std::size_t limit) const;

  std::deque<OpSpan> spans_;
  std::deque<SpanTimes> sums_;  // sum before span forgotten_ + 16 i
  std::size_t forgotten_ = 0;   // number of dropped spans, a multiple of 16
};

}  // namespace trainyard::ui
