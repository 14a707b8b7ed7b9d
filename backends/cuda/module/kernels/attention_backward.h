// SPDX-License-Identifier: GPL-3.0-or-later
// Gradients of 16-bit attention by tensor cores, in two passes. In the first pass, each team
// (thread block) has a tile of queries and loops over the keys, as in forward. In the second pass,
// each team has a tile of keys and loops over the queries, whose softmax state the first pass has
// stored. The second pass uses transposed matrices (a row is a key, a column is a query), so that
// the result of one product is directly the left input of the next. See attention_forward.h.
#pragma once

#include "backends/cuda/module/kernels/attention_forward.h"

namespace trainyard::cuda {

// Softmax state of a query. exp(score) / sum of exp(scores) = 2^(score log2(e) - log_sum). `mean`
// is the mean of g . value with these weights, which equals g . output. A query beyond the last row
// sees no keys.
struct alignas(8) SoftmaxOfQuery {
  float log_sum, mean;
};

inline constexpr int kResidentRows = kStrip * kWarps;

// Returns the number of softmax states per head, which is padded to a multiple of kResidentRows.
constexpr std::int64_t softmax_rows(std::int64_t rows) {
  return parts(rows, kResidentRows) * kResidentRows;
}

template <int kWidth>
struct BackwardShape {
  static constexpr int kStreamedRows =
      kWidth <= 64 ? 64 : 32;  // rows per tile of the streamed matrices
  static constexpr int kNumbers =
      2 * numbers_of<kWidth>(kResidentRows) + StreamedRows<kWidth, kStreamedRows>::kNumbers;
  static constexpr int kBytes =
      2 * kNumbers + 2 * kStreamedRows * static_cast<int>(sizeof(SoftmaxOfQuery));
};

// Tiles of a team: rows of two matrices that stay in shared memory, and rows of two matrices that
// are streamed through it.
template <int kWidth>
struct BackwardTiles {
  TileOf<kWidth> left, right;
  StreamedRows<kWidth, BackwardShape<kWidth>::kStreamedRows> passing;
};

template <int kWidth>
IN_REGISTERS BackwardTiles<kWidth> fetch_resident(const Team& team, std::int64_t first,
                                                  const HeadRows& left_rows,
                                                  const HeadRows& right_rows,
                                                  const HeadRows& left_streamed,
                                                  const HeadRows& right_streamed) {
  const TileOf<kWidth> left{shared<std::uint16_t>(team)}, right{left(kResidentRows, 0)};
  fetch_rows<kWidth>(team, left_rows, first, kResidentRows, left);
  fetch_rows<kWidth>(team, right_rows, first, kResidentRows, right);
  return {left, right, {left_streamed, right_streamed, {right(kResidentRows, 0)}}};
}

template <int kWidth>
IN_REGISTERS BackwardTiles<kWidth> fetch_queries(const Team& team, const Heads& of,
                                                 const compute::AttentionBackward& op,
                                                 std::int64_t head, std::int64_t first) {
  return fetch_resident<kWidth>(team, first, rows_of(of, op.input, Projection::query, head),
                                rows_of(of, op.output_gradient, Projection::output, head),
                                rows_of(of, op.input, Projection::key, head),
                                rows_of(of, op.input, Projection::value, head));
}

// Sums of a warp for a strip of rows: scores (query . key), and the products gradient . value.
template <int kWidth>
struct ScoredStrip {
  Accumulator<kStrip, BackwardShape<kWidth>::kStreamedRows> scores, along;
};

template <class T, int kWidth>
IN_REGISTERS ScoredStrip<kWidth> score_strip(const Warp& warp, const BackwardTiles<kWidth>& tiles,
                                             int strip, int buffer) {
  ScoredStrip<kWidth> scored;
  Operand<T, kStrip, kWidth> own;
  load(warp, own, TileOf<kWidth>{tiles.left(strip * kStrip, 0)});
  add_product_with_transposed(warp, scored.scores, own, tiles.passing.left(buffer));
  load(warp, own, TileOf<kWidth>{tiles.right(strip * kStrip, 0)});
  add_product_with_transposed(warp, scored.along, own, tiles.passing.right(buffer));
  return scored;
}

// Calls work(scored, buffer) for each tile of keys that a strip of the team's queries sees.
template <class T, int kWidth, class Work>
IN_REGISTERS void for_keys(const Team& team, const Heads& of, const BackwardTiles<kWidth>& tiles,
                           std::int64_t first, int strip, const Work& work) {
  constexpr int kKeys = BackwardShape<kWidth>::kStreamedRows;
  const Warp warp = warp_of(team);
  const auto get = [&](std::int64_t key, int buffer) { tiles.passing.get(team, key, buffer); };
  for_tiles(team, 0, std::min(first + kResidentRows, of.rows), kKeys, get,
            [&](std::int64_t key, int buffer) {
              const int ahead = static_cast<int>(key - first) - strip * kStrip;
              if (strip >= kWarps || ahead >= kStrip) return;
              ScoredStrip<kWidth> scored = score_strip<T>(warp, tiles, strip, buffer);
              if (ahead + kKeys > 1) hide_later_keys(warp, scored.scores, ahead);
              work(scored, buffer);
            });
}

// Computes g . output for the team's queries; 0 for rows beyond the last.
template <class T>
ON_DEVICE void make_means(const Team& team, const HeadRows& gradients, const HeadRows& outputs,
                          std::int64_t first, float* means) {
  for (int row = team.rank; row < kResidentRows; row += team.size)
    means[row] = first + row < outputs.rows ? dot<T>(gradients, outputs, first + row) : 0;
}

template <class T, int kWidth>
ON_DEVICE void differentiate_queries_by_warps(const Team& team, const Heads& of,
                                              const compute::AttentionBackward& op,
                                              std::int64_t head, std::int64_t first,
                                              SoftmaxOfQuery* all) {
  const Warp warp = warp_of(team);
  const float factor = score_factor(of) * kLog2OfE;
  const BackwardTiles<kWidth> tiles = fetch_queries<kWidth>(team, of, op, head, first);
  auto* const means =
      reinterpret_cast<float*>(shared<std::uint16_t>(team) + BackwardShape<kWidth>::kNumbers);
  make_means<T>(team, rows_of(of, op.output_gradient, Projection::output, head),
                rows_of(of, op.output, Projection::output, head), first, means);
  team.sync();
  for_strips(warp, [&](int strip) {
    OnlineSoftmaxRows<kStrip> seen = nothing_seen_of<kStrip>(warp);
    Accumulator<kStrip, kWidth> sums;
    PerRow<kStrip> mean;
    for_each(warp, mean, [&](float& number, const Entry& entry) {
      number = strip < kWarps ? means[strip * kStrip + entry.row] : 0;
    });
    for_keys<T>(team, of, tiles, first, strip, [&](ScoredStrip<kWidth>& scored, int buffer) {
      const PerRow<kStrip> scale = update_softmax(warp, seen, scored.scores, factor);
      for_each(warp, sums, [&](float& sum, const Entry& entry) { sum *= scale[entry]; });
      for_each(warp, scored.along, scored.scores,
               [&](float& along, float& likely, const Entry& entry) {
                 along = likely * (along - mean[entry]);
               });
      add_product(warp, sums, rounded<T>(scored.along), tiles.passing.left(buffer));
    });
    join(warp, seen.sum, total);
    for_each(warp, sums,
             [&](float& sum, const Entry& entry) { sum *= score_factor(of) / seen.sum[entry]; });
    for_each(warp, seen.sum, [&](float& sum, const Entry& entry) {
      const std::int64_t query = first + strip * kStrip + entry.row;
      if (strip >= kWarps || !is_row_leader(warp)) return;
      all[query] = query < of.rows
                       ? SoftmaxOfQuery{seen.largest[entry] * factor + std::log2(sum), mean[entry]}
                       : SoftmaxOfQuery{std::numeric_limits<float>::infinity(), 0};
    });
    if (strip < kWarps) store<T>(warp, sums, TileOf<kWidth>{tiles.left(strip * kStrip, 0)});
  });
  team.sync();
  write_rows<kWidth>(team, tiles.left, kResidentRows,
                     rows_of(of, op.input_gradient, Projection::query, head), first);
}

// Sets a score to -infinity if its query (column + `behind`) precedes its key (row), because such a
// query does not see the key.
template <int kQueries>
IN_REGISTERS void hide_earlier_queries(const Warp& warp, Accumulator<kStrip, kQueries>& scores,
                                       int behind) {
  for_each(warp, scores, [&](float& score, const Entry& entry) {
    if (entry.column < entry.row + behind) score = -std::numeric_limits<float>::infinity();
  });
}

// Fetches a tile of queries for the team's keys, with their softmax states.
template <int kWidth>
IN_REGISTERS void fetch_query_tile(const Team& team, const BackwardTiles<kWidth>& tiles,
                                   const SoftmaxOfQuery* all, std::int64_t query, int buffer,
                                   SoftmaxOfQuery* softmax) {
  constexpr int kQueries = BackwardShape<kWidth>::kStreamedRows,
                kAtOnce = 2 * kPiece / static_cast<int>(sizeof(SoftmaxOfQuery));
  tiles.passing.get(team, query, buffer);
  rolled(team.rank * kAtOnce, kQueries, team.size * kAtOnce, [&](int k) {
    fetch(reinterpret_cast<std::uint16_t*>(softmax + buffer * kQueries + k),
          reinterpret_cast<const std::uint16_t*>(all + query + k));
  });
}

template <class T, int kWidth>
ON_DEVICE void differentiate_keys_by_warps(const Team& team, const Heads& of,
                                           const compute::AttentionBackward& op, std::int64_t head,
                                           std::int64_t first, const SoftmaxOfQuery* all) {
  constexpr int kQueries = BackwardShape<kWidth>::kStreamedRows;
  const Warp warp = warp_of(team);
  const float factor = score_factor(of) * kLog2OfE;
  const BackwardTiles<kWidth> tiles =
      fetch_resident<kWidth>(team, first, rows_of(of, op.input, Projection::key, head),
                             rows_of(of, op.input, Projection::value, head),
                             rows_of(of, op.input, Projection::query, head),
                             rows_of(of, op.output_gradient, Projection::output, head));
  auto* const softmax = reinterpret_cast<SoftmaxOfQuery*>(shared<std::uint16_t>(team) +
                                                          BackwardShape<kWidth>::kNumbers);
  for_strips(warp, [&](int strip) {
    Accumulator<kStrip, kWidth> key_sums, value_sums;
    const auto get = [&](std::int64_t query, int buffer) {
      fetch_query_tile(team, tiles, all, query, buffer, softmax);
    };
    for_tiles(team, first, of.rows, kQueries, get, [&](std::int64_t query, int buffer) {
      const int behind = static_cast<int>(first - query) + strip * kStrip;
      if (strip >= kWarps || behind >= kQueries) return;
      ScoredStrip<kWidth> scored = score_strip<T>(warp, tiles, strip, buffer);
      if (behind + kStrip > 1) hide_earlier_queries(warp, scored.scores, behind);
      for_each(warp, scored.scores, scored.along,
               [&](float& score, float& along, const Entry& entry) {
                 const SoftmaxOfQuery of_query = softmax[buffer * kQueries + entry.column];
                 score = power_of_two(score * factor - of_query.log_sum);
                 along = score * (along - of_query.mean);
               });
      add_product(warp, value_sums, rounded<T>(scored.scores), tiles.passing.right(buffer));
      add_product(warp, key_sums, rounded<T>(scored.along), tiles.passing.left(buffer));
    });
    for_each(warp, key_sums, [&](float& sum, const Entry&) { sum *= score_factor(of); });
    if (strip >= kWarps) return;
    store<T>(warp, key_sums, TileOf<kWidth>{tiles.left(strip * kStrip, 0)});
    store<T>(warp, value_sums, TileOf<kWidth>{tiles.right(strip * kStrip, 0)});
  });
  team.sync();
  write_rows<kWidth>(team, tiles.left, kResidentRows,
                     rows_of(of, op.input_gradient, Projection::key, head), first);
  write_rows<kWidth>(team, tiles.right, kResidentRows,
                     rows_of(of, op.input_gradient, Projection::value, head), first);
}

// Runs both passes of the gradients. In each pass, the tiles with the most visible rows come first.
template <class T, int kWidth>
void differentiate_by_warps(Stream& stream, const compute::AttentionBackward& op, const Heads& of,
                            SoftmaxOfQuery* all) {
  const std::int64_t heads = op.input.shape[0] * of.heads,
                     teams = heads * parts(of.rows, kResidentRows), known = softmax_rows(of.rows);
  constexpr int kBytes = BackwardShape<kWidth>::kBytes;
  for_teams<kTileThreads>(stream, teams, kBytes, [=] ON_DEVICE(const Team& team, std::int64_t at) {
    differentiate_queries_by_warps<T, kWidth>(team, of, op, at % heads,
                                              tile_from_last<kResidentRows>(of, heads, at),
                                              all + at % heads * known);
  });
  for_teams<kTileThreads>(stream, teams, kBytes, [=] ON_DEVICE(const Team& team, std::int64_t at) {
    differentiate_keys_by_warps<T, kWidth>(team, of, op, at % heads, at / heads * kResidentRows,
                                           all + at % heads * known);
  });
}

}  // namespace trainyard::cuda
