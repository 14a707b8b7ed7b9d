// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_track.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace trainyard::ui {
namespace {

OpSpan span(Nanoseconds begin, Nanoseconds ready, Nanoseconds end,
            SpanKind kind = SpanKind::receive, Nanoseconds held = 0) {
  OpSpan made;
  made.begin = begin, made.ready = ready, made.end = end, made.kind = kind, made.held = held;
  return made;
}

// Spans without overlaps: after a pause, immediately after the previous one, or of zero length.
std::vector<OpSpan> any_spans(std::size_t count) {
  std::mt19937 random(7);
  std::vector<OpSpan> spans;
  Nanoseconds at = -50;
  for (std::size_t i = 0; i < count; ++i) {
    at += random() % 3 == 0 ? static_cast<Nanoseconds>(random() % 20) : 0;
    const Nanoseconds begin = at, waited = static_cast<Nanoseconds>(random() % 4),
                      busy = static_cast<Nanoseconds>(random() % 9);
    const Nanoseconds held = random() % 2 == 0 ? static_cast<Nanoseconds>(random() % 6) : 0;
    at += waited + busy + held;
    spans.push_back(
        span(begin, begin + waited, at, static_cast<SpanKind>(random() % kSpanKinds), held));
  }
  return spans;
}

SpanTimes counted_one_by_one(const std::vector<OpSpan>& spans, const TimeRange& range) {
  SpanTimes sum;
  for (const OpSpan& one : spans) {
    const auto inside = [&](Nanoseconds from, Nanoseconds to) {
      return std::max<Nanoseconds>(0, std::min(to, range.end) - std::max(from, range.begin));
    };
    sum.waiting += inside(one.begin, one.ready);
    sum.of(one.kind) += inside(one.ready, one.end - one.held);
    sum.held += inside(one.end - one.held, one.end);
  }
  return sum;
}

TEST(SpanTrack, times_of_any_range_match_a_brute_force_sum) {
  const std::vector<OpSpan> spans = any_spans(300);
  SpanTrack track;
  for (const OpSpan& one : spans) track.append(one);
  std::mt19937 random(3);
  const Nanoseconds last = spans.back().end;
  for (int round = 0; round < 500; ++round) {
    const auto a = static_cast<Nanoseconds>(random() % static_cast<unsigned>(last + 100)) - 80,
               b = a + static_cast<Nanoseconds>(random() % 700);
    EXPECT_EQ(track.times_within({a, b}, track.end()), counted_one_by_one(spans, {a, b}))
        << a << " to " << b;
  }
}

TEST(SpanTrack, span_lookup_matches_a_linear_search) {
  const std::vector<OpSpan> spans = any_spans(200);
  SpanTrack track;
  for (const OpSpan& one : spans) track.append(one);
  for (Nanoseconds time = -60; time < spans.back().end + 10; ++time) {
    std::size_t ending = 0, beginning = 0;
    while (ending < spans.size() && spans[ending].end <= time) ++ending;
    while (beginning < spans.size() && spans[beginning].begin < time) ++beginning;
    EXPECT_EQ(track.first_ending_after(time, track.end()), ending) << time;
    for (const std::size_t from : {std::size_t{0}, beginning / 2, beginning})
      EXPECT_EQ(track.first_beginning_from(time, from, track.end()), beginning) << time;
  }
}

TEST(SpanTrack, keeps_indices_and_times_when_the_first_are_dropped) {
  const std::vector<OpSpan> spans = any_spans(100);
  SpanTrack track;
  for (const OpSpan& one : spans) track.append(one);
  const SpanTimes whole = track.times_of(40, 90);
  track.drop_block();
  track.drop_block();
  EXPECT_EQ(track.first(), 32u);
  EXPECT_EQ(track.end(), 100u);
  EXPECT_EQ(track[32], spans[32]);
  EXPECT_EQ(track.times_of(40, 90), whole);
  track.append(span(spans.back().end, spans.back().end, spans.back().end + 5));
  EXPECT_EQ(track.times_of(100, 101).of(SpanKind::receive), 5);
  EXPECT_EQ(track.first_ending_after(std::numeric_limits<Nanoseconds>::min(), track.end()), 32u);
}

TEST(SpanTrack, joins_concurrent_spans) {
  SpanTrack track;
  for (const OpSpan& one : {span(0, 2, 4), span(10, 12, 20), span(20, 20, 21)}) track.join(one);
  EXPECT_EQ(track.size(), 3u) << "adjacent spans are not joined";
  OpSpan late = span(15, 19, 30);
  late.bytes = 8;
  track.join(late);
  ASSERT_EQ(track.size(), 2u);
  EXPECT_EQ(track[1].begin, 10);
  EXPECT_EQ(track[1].ready, 12) << "ready time of the first span";
  EXPECT_EQ(track[1].end, 30);
  EXPECT_EQ(track[1].ops, 3u);
  EXPECT_EQ(track[1].bytes, 8);
  EXPECT_EQ(track.times_within({0, 100}, track.end()).waiting, 4)
      << "2 of the first, 2 of the joined one";
  EXPECT_EQ(track.times_within({0, 100}, track.end()).of(SpanKind::receive), 20);
}

TEST(SpanTrack, keeps_its_sums_when_joining_removes_blocks) {
  SpanTrack track;
  for (Nanoseconds i = 0; i < 40; ++i) track.join(span(10 * i, 10 * i, 10 * i + 5));
  track.join(span(50, 50, 395));
  EXPECT_EQ(track.size(), 6u);
  for (Nanoseconds i = 40; i < 80; ++i) track.join(span(10 * i, 10 * i, 10 * i + 5));
  EXPECT_EQ(track.times_within({0, 800}, track.end()).of(SpanKind::receive), 5 * 5 + 345 + 40 * 5);
}

}  // namespace
}  // namespace trainyard::ui
