// SPDX-License-Identifier: GPL-3.0-or-later
// Ops one after another: none overlaps the next, so begins and ends rise together. Sums by kind
// stand at every 16th span, so that the times of any range cost a search and a few additions,
// however many spans lie in it. Spans are numbered since the start, also when the first are
// forgotten.
#pragma once

#include <cstddef>
#include <deque>

#include "ui/model/op_span.h"

namespace trainyard::ui {

class SpanTrack {
 public:
  static constexpr std::size_t kBlock = 16;

  bool takes(const OpSpan& span) const { return spans_.empty() || span.begin >= spans_.back().end; }
  void append(const OpSpan& span);  // one that it takes
  // Appends; those at the end that it overlaps become one with it.
  void join(OpSpan span);
  void forget_block();  // the first 16
  bool may_forget() const { return spans_.size() > 2 * kBlock; }

  std::size_t first() const { return forgotten_; }
  std::size_t end() const { return forgotten_ + spans_.size(); }
  std::size_t size() const { return spans_.size(); }
  const OpSpan& operator[](std::size_t number) const { return spans_[number - forgotten_]; }

  // Numbers of [first, end), `limit` where there is none before it.
  std::size_t first_ending_after(Nanoseconds time, std::size_t limit) const;
  std::size_t first_beginning_from(Nanoseconds time, std::size_t from,
                                   std::size_t limit) const;  // near to `from` it is found sooner

  SpanTimes times_of(std::size_t begin, std::size_t end) const;  // of whole spans
  SpanTimes times_within(const TimeRange& range,
                         std::size_t limit) const;  // of what lies in it, of spans before `limit`

 private:
  SpanTimes sum_before(std::size_t number) const;
  SpanTimes times_until(Nanoseconds time, std::size_t limit) const;

  std::deque<OpSpan> spans_;
  std::deque<SpanTimes> sums_;  // before span forgotten_ + 16 i
  std::size_t forgotten_ = 0;   // a multiple of 16
};

}  // namespace trainyard::ui
