// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_track.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace trainyard::ui {
namespace {

constexpr Nanoseconds kForever = std::numeric_limits<Nanoseconds>::max();

}  // namespace

Nanoseconds SpanTimes::total() const {
  return std::accumulate(busy.begin(), busy.end(), waiting + held);
}

void SpanTimes::add(const OpSpan& span, Nanoseconds until) {
  if (until <= span.begin) return;
  waiting += std::min(until, span.ready) - span.begin;
  if (until > span.ready) of(span.kind) += std::min(until, span.done()) - span.ready;
  if (until > span.done()) held += std::min(until, span.end) - span.done();
}

SpanTimes SpanTimes::operator-(const SpanTimes& earlier) const {
  SpanTimes left = *this;
  for (std::size_t kind = 0; kind < kSpanKinds; ++kind) left.busy[kind] -= earlier.busy[kind];
  left.waiting -= earlier.waiting;
  left.held -= earlier.held;
  return left;
}

void SpanTrack::append(const OpSpan& span) {
  if (spans_.size() % kBlock == 0) sums_.push_back(sum_before(end()));
  spans_.push_back(span);
}

void SpanTrack::join(OpSpan span) {
  while (!takes(span)) {
    const OpSpan& last = spans_.back();
    span.begin = std::min(span.begin, last.begin);
    span.ready = std::min(span.ready, last.ready);
    if (last.end > span.end) span.held = last.held;
    span.end = std::max(span.end, last.end);
    span.held = std::min(span.held, span.end - span.ready);
    span.bytes += last.bytes;
    span.ops += last.ops;
    span.step = last.step, span.program = last.program, span.op = last.op, span.kind = last.kind;
    spans_.pop_back();
    if (spans_.size() % kBlock == 0) sums_.pop_back();
  }
  append(span);
}

void SpanTrack::drop_block() {
  spans_.erase(spans_.begin(), spans_.begin() + kBlock);
  sums_.pop_front();
  forgotten_ += kBlock;
}

SpanTimes SpanTrack::sum_before(std::size_t number) const {
  const std::size_t at = number - forgotten_;
  if (sums_.empty()) return {};
  std::size_t block = std::min(at / kBlock, sums_.size() - 1);
  SpanTimes sum = sums_[block];
  for (std::size_t i = block * kBlock; i < at; ++i) sum.add(spans_[i], kForever);
  return sum;
}

SpanTimes SpanTrack::times_of(std::size_t begin, std::size_t end) const {
  if (end - begin > 2 * kBlock) return sum_before(end) - sum_before(begin);
  SpanTimes sum;
  for (std::size_t i = begin; i < end; ++i) sum.add((*this)[i], kForever);
  return sum;
}

std::size_t SpanTrack::first_ending_after(Nanoseconds time, std::size_t limit) const {
  const auto last =
      spans_.begin() + static_cast<std::ptrdiff_t>(std::max(limit, first()) - first());
  const auto at = std::partition_point(spans_.begin(), last,
                                       [time](const OpSpan& span) { return span.end <= time; });
  return first() + static_cast<std::size_t>(at - spans_.begin());
}

// Galloping search: doubles the stride until it passes the result, then searches within the last
// stride.
std::size_t SpanTrack::first_beginning_from(Nanoseconds time, std::size_t from,
                                            std::size_t limit) const {
  std::size_t stride = 1, low = from;
  while (low < limit && (*this)[low].begin < time) from = low + 1, low += stride, stride *= 2;
  const auto at = [this](std::size_t number) {
    return spans_.begin() + static_cast<std::ptrdiff_t>(number - first());
  };
  const auto last = at(std::min(low, limit));
  return first() + static_cast<std::size_t>(
                       std::partition_point(at(std::min(from, limit)), last,
                                            [time](const OpSpan& s) { return s.begin < time; }) -
                       at(first()));
}

SpanTimes SpanTrack::times_until(Nanoseconds time, std::size_t limit) const {
  const std::size_t open = first_ending_after(time, limit);
  SpanTimes sum = sum_before(open);
  if (open < limit) sum.add((*this)[open], time);
  return sum;
}

SpanTimes SpanTrack::times_within(const TimeRange& range, std::size_t limit) const {
  return times_until(range.end, limit) - times_until(range.begin, limit);
}

}  // namespace trainyard::ui
