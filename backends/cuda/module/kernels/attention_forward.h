// SPDX-License-Identifier: GPL-3.0-or-later
// 16-bit attention by tensor cores (Dao 2023, "FlashAttention-2"). Each warp of a team (thread
// block) has some queries, whose state stays in its registers. The warps loop over the keys
// together. Probabilities are rounded to 16 bits before they are multiplied; sums are fp32.
#pragma once

#include <cmath>
#include <limits>

#include "backends/cuda/module/kernels/attention_tiles.h"

namespace trainyard::cuda {

// Online softmax state of queries: the largest score, and the sum of exp(score - largest). Each
// lane has a partial sum until the lanes are joined.
template <int kRows>
struct OnlineSoftmaxRows {
  PerRow<kRows> largest, sum;
};

template <int kRows>
IN_REGISTERS OnlineSoftmaxRows<kRows> nothing_seen_of(const Warp& warp) {
  OnlineSoftmaxRows<kRows> seen;
  for_each(warp, seen.largest,
           [](float& largest, Entry) { largest = -std::numeric_limits<float>::infinity(); });
  for_each(warp, seen.sum, [](float& sum, Entry) { sum = 0; });
  return seen;
}

// Sets a score to -infinity if its key (column + `ahead`) comes after its query (row).
template <int kRows, int kKeys>
IN_REGISTERS void hide_later_keys(const Warp& warp, Accumulator<kRows, kKeys>& scores, int ahead) {
  for_each(warp, scores, [&](float& score, const Entry& entry) {
    if (entry.column + ahead > entry.row) score = -std::numeric_limits<float>::infinity();
  });
}

ON_DEVICE inline float larger(float a, float b) { return std::fmax(a, b); }
ON_DEVICE inline float total(float a, float b) { return a + b; }

// Replaces scores by exp(score - largest), computed as a power of 2 after multiplying by `factor`.
// Returns the factor by which all earlier sums must be scaled.
template <int kRows, int kKeys>
IN_REGISTERS PerRow<kRows> update_softmax(const Warp& warp, OnlineSoftmaxRows<kRows>& seen,
                                          Accumulator<kRows, kKeys>& scores, float factor) {
  PerRow<kRows> scale = seen.largest;
  for_each(warp, scores, [&](float& score, const Entry& entry) {
    seen.largest[entry] = larger(seen.largest[entry], score);
  });
  join(warp, seen.largest, larger);
  for_each(warp, scale, [&](float& before, const Entry& entry) {
    before = power_of_two((before - seen.largest[entry]) * factor);
    seen.sum[entry] *= before;
  });
  for_each(warp, scores, [&](float& score, const Entry& entry) {
    score = power_of_two(score * factor - seen.largest[entry] * factor);
    seen.sum[entry] += score;
  });
  return scale;
}

ON_DEVICE inline float score_factor(const Heads& of) {
  return 1 / std::sqrt(static_cast<float>(of.width));
}

// Tile sizes of the forward pass. A warp has as many queries as fit in its registers, so that each
// key that is read serves more queries.
template <int kWidth>
struct ForwardShape {
  static constexpr int kRows = kWidth <= 64 ? 2 * kStrip : kStrip, kQueries = kRows * kWarps,
                       kKeys = 64;
  static constexpr int kBytes =
      2 * (numbers_of<kWidth>(kQueries) + StreamedRows<kWidth, kKeys>::kNumbers);
};

// State of the queries of a warp: the queries, their online softmax, and their weighted sums of
// values.
template <class T, int kWidth, int kRows = ForwardShape<kWidth>::kRows>
struct QueryState {
  Operand<T, kRows, kWidth> queries;
  OnlineSoftmaxRows<kRows> seen;
  Accumulator<kRows, kWidth> sums;
};

template <class T, int kWidth>
IN_REGISTERS void attend_to(const Warp& warp, QueryState<T, kWidth>& mine, TileOf<kWidth> keys,
                            TileOf<kWidth> values, int ahead, float factor) {
  constexpr int kRows = ForwardShape<kWidth>::kRows, kKeys = ForwardShape<kWidth>::kKeys;
  Accumulator<kRows, kKeys> scores;
  add_product_with_transposed(warp, scores, mine.queries, keys);
  if (ahead + kKeys > 1) hide_later_keys(warp, scores, ahead);
  const PerRow<kRows> scale = update_softmax(warp, mine.seen, scores, factor);
  for_each(warp, mine.sums, [&](float& sum, const Entry& entry) { sum *= scale[entry]; });
  add_product(warp, mine.sums, rounded<T>(scores), values);
}

template <class T, int kWidth>
IN_REGISTERS void finish(const Warp& warp, QueryState<T, kWidth>& mine, TileOf<kWidth> to) {
  join(warp, mine.seen.sum, total);
  for_each(warp, mine.seen.sum, [](float& sum, const Entry&) { sum = 1 / sum; });
  for_each(warp, mine.sums, [&](float& sum, const Entry& entry) { sum *= mine.seen.sum[entry]; });
  store<T>(warp, mine.sums, to);
}

template <class T, int kWidth>
ON_DEVICE void attend_with_tensor_cores(const Team& team, const Heads& of,
                                        const compute::AttentionForward& op, std::int64_t head,
                                        std::int64_t first) {
  using Shape = ForwardShape<kWidth>;
  const Warp warp = warp_of(team);
  const TileOf<kWidth> queries{shared<std::uint16_t>(team)};
  const StreamedRows<kWidth, Shape::kKeys> passing{rows_of(of, op.input, Projection::key, head),
                                                   rows_of(of, op.input, Projection::value, head),
                                                   {queries(Shape::kQueries, 0)}};
  const std::int64_t end = std::min(first + Shape::kQueries, of.rows);
  fetch_rows<kWidth>(team, rows_of(of, op.input, Projection::query, head), first, Shape::kQueries,
                     queries);
  for_strips(warp, [&](int strip) {
    const TileOf<kWidth> own{queries(strip * Shape::kRows, 0)};
    QueryState<T, kWidth> mine{{}, nothing_seen_of<Shape::kRows>(warp), {}};
    const auto get = [&](std::int64_t key, int buffer) { passing.get(team, key, buffer); };
    for_tiles(team, 0, end, Shape::kKeys, get, [&](std::int64_t key, int buffer) {
      const int ahead = static_cast<int>(key - first) - strip * Shape::kRows;
      if (strip >= kWarps || ahead >= Shape::kRows) return;
      if (key == 0) load(warp, mine.queries, own);
      attend_to(warp, mine, passing.left(buffer), passing.right(buffer), ahead,
                score_factor(of) * kLog2OfE);
    });
    if (strip < kWarps) finish(warp, mine, own);
  });
  team.sync();
  write_rows<kWidth>(team, queries, Shape::kQueries,
                     rows_of(of, op.output, Projection::output, head), first);
}

// Returns the first row of the tile of team `at`. The tiles that see the most keys come first, for
// all heads, which balances the load at the end.
template <int kQueries>
ON_DEVICE std::int64_t tile_from_last(const Heads& of, std::int64_t heads, std::int64_t at) {
  return (parts(of.rows, kQueries) - 1 - at / heads) * kQueries;
}

template <class T, int kWidth>
void attend_with_tensor_cores(Stream& stream, const compute::AttentionForward& op,
                              const Heads& of) {
  using Shape = ForwardShape<kWidth>;
  const std::int64_t heads = op.input.shape[0] * of.heads;
  for_teams<kTileThreads>(stream, heads * parts(of.rows, Shape::kQueries), Shape::kBytes,
                          [=] ON_DEVICE(const Team& team, std::int64_t at) {
                            attend_with_tensor_cores<T, kWidth>(
                                team, of, op, at % heads,
                                tile_from_last<Shape::kQueries>(of, heads, at));
                          });
}

}  // namespace trainyard::cuda
