// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/span_pieces.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

namespace trainyard::ui {
namespace {

SpanTrack track_of(const std::vector<TimeRange>& ranges) {
  SpanTrack track;
  for (const TimeRange& one : ranges) {
    OpSpan span;
    span.begin = span.ready = one.begin, span.end = one.end, span.kind = SpanKind::forward;
    track.append(span);
  }
  return track;
}

// Formats pieces as "0-3:#0 3-4:#1+3(7)": columns, first span, number of merged spans and their
// nanoseconds.
std::string cut(const SpanTrack& track, const Columns& columns) {
  std::vector<SpanPiece> pieces;
  std::ostringstream text;
  cut_into_pieces(track, track.end(), columns, pieces);
  for (const SpanPiece& piece : pieces) {
    text << (text.str().empty() ? "" : " ") << piece.left << "-" << piece.right << ":#"
         << piece.first;
    if (piece.spans > 1) text << "+" << piece.spans << "(" << piece.times.total() << ")";
  }
  return text.str();
}

TEST(SpanPieces, merge_only_spans_of_one_column) {
  const SpanTrack track = track_of({{0, 30}, {30, 32}, {33, 34}, {35, 39}, {60, 61}, {70, 95}});
  EXPECT_EQ(cut(track, {{0, 100}, 10}), "0-3:#0 3-4:#1+3(7) 6-7:#4 7-9:#5");
}

TEST(SpanPieces, long_span_does_not_hide_short_ones) {
  EXPECT_EQ(cut(track_of({{0, 2}, {3, 4}, {5, 45}}), {{0, 100}, 10}), "0-1:#0+2(3) 1-4:#2");
  EXPECT_EQ(cut(track_of({{0, 2}, {5, 45}}), {{0, 100}, 10}), "0-1:#0 1-4:#1");
}

TEST(SpanPieces, are_clipped_to_the_range) {
  const SpanTrack track = track_of({{0, 30}, {30, 60}, {60, 90}});
  EXPECT_EQ(cut(track, {{20, 70}, 5}), "0-1:#0 1-4:#1 4-5:#2");
  EXPECT_EQ(cut(track, {{35, 45}, 10}), "0-10:#1");
  EXPECT_EQ(cut(track, {{95, 99}, 4}), "");
}

TEST(SpanPieces, columns_are_contiguous_and_cover_the_range) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const auto width = static_cast<Nanoseconds>(1 + random() % 10'000'000'000),
               begin = static_cast<Nanoseconds>(random() % 1'000'000);
    const Columns columns(
        {begin, begin + width},
        static_cast<int>(
            1 + random() % std::min<std::uint64_t>(3'000, static_cast<std::uint64_t>(width))));
    const int column = static_cast<int>(random() % static_cast<std::uint64_t>(columns.pixels()));
    ASSERT_EQ(columns.of(columns.begin_of(column)), column) << width << " on " << columns.pixels();
    ASSERT_LT(columns.of(columns.begin_of(column) - 1), column)
        << width << " on " << columns.pixels();
    ASSERT_EQ(columns.of(begin + width), columns.pixels()) << width;
  }
}

TEST(SpanPieces, include_a_span_of_zero_length) {
  EXPECT_EQ(cut(track_of({{50, 50}}), {{0, 100}, 10}), "5-6:#0");
}

TEST(SpanPieces, are_at_most_one_per_column_and_contain_each_span_once) {
  std::mt19937 random(5);
  std::vector<TimeRange> ranges;
  Nanoseconds at = 0;
  for (int i = 0; i < 100'000; ++i) {
    const Nanoseconds begin = at + static_cast<Nanoseconds>(random() % 50),
                      end = begin +
                            static_cast<Nanoseconds>(random() % 2000 == 0 ? 90'000 : random() % 60);
    ranges.push_back({begin, end});
    at = end;
  }
  const SpanTrack track = track_of(ranges);
  for (const int pixels : {1, 7, 640, 5000}) {
    std::vector<SpanPiece> pieces;
    EXPECT_TRUE(cut_into_pieces(track, track.end(), {{0, at}, pixels}, pieces));
    EXPECT_LE(pieces.size(), static_cast<std::size_t>(pixels) + 1)
        << "the last piece may share the last column";
    std::size_t next = 0;
    int free = 0;
    for (const SpanPiece& piece : pieces) {
      EXPECT_EQ(piece.first, next);
      EXPECT_GE(piece.left, std::min(free, pixels - 1));
      EXPECT_GT(piece.right, piece.left);
      EXPECT_LE(piece.right, pixels);
      next = piece.first + piece.spans;
      free = piece.right;
    }
    EXPECT_EQ(next, track.end());
  }
}

}  // namespace
}  // namespace trainyard::ui
