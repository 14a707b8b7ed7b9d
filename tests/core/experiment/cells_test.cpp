// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>

namespace trainyard::experiment {
namespace {

using S = PipelineSchedule;

std::vector<int> round_robin(int ranks, int chunks = 1) {
  std::vector<int> list;
  for (int k = 0; k < ranks * chunks; ++k) list.push_back(k % ranks);
  return list;
}

std::string text(const std::vector<Cell>& cells) {
  std::string line;
  for (const Cell& cell : cells)
    line += (line.empty() ? "" : " ") +
            std::string(cell.pass == Pass::forward    ? "F"
                        : cell.pass == Pass::backward ? "B"
                                                      : "W") +
            std::to_string(cell.stage) + "." + std::to_string(cell.micro);
  return line;
}

// Simulates all ranks in parallel. Returns the length and the idle time of each rank, or nullopt if
// ranks deadlock.
struct Played {
  int length = 0;
  std::vector<int> idle;  // by rank
};
std::optional<Played> play(S schedule, const std::vector<int>& ranks, int micro_batches,
                           int forward = 1, int backward = 1, int weight = 1) {
  const int count = *std::max_element(ranks.begin(), ranks.end()) + 1,
            last = static_cast<int>(ranks.size()) - 1;
  std::vector<std::vector<Cell>> cells;
  for (int r = 0; r < count; ++r) cells.push_back(cells_of(schedule, ranks, r, micro_batches));
  const bool separate = std::any_of(cells.begin(), cells.end(), [](const auto& of) {
    return std::any_of(of.begin(), of.end(),
                       [](const Cell& cell) { return cell.pass == Pass::backward_weight; });
  });
  std::map<std::tuple<Pass, int, int>, int> ended;
  std::vector<std::size_t> next(cells.size());
  std::vector<int> free(cells.size());
  Played played{0, std::vector<int>(cells.size())};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < cells.size(); ++r) {
      if (next[r] == cells[r].size()) continue;
      const Cell& cell = cells[r][next[r]];
      std::vector<std::tuple<Pass, int, int>> waits;
      if (cell.pass == Pass::forward && cell.stage > 0)
        waits.emplace_back(Pass::forward, cell.stage - 1, cell.micro);
      if (cell.pass == Pass::backward)
        waits.emplace_back(cell.stage == last ? Pass::forward : Pass::backward,
                           std::min(last, cell.stage + 1), cell.micro);
      if (cell.pass == Pass::backward) waits.emplace_back(Pass::forward, cell.stage, cell.micro);
      if (cell.pass == Pass::backward_weight)
        waits.emplace_back(Pass::backward, cell.stage, cell.micro);
      if (!std::all_of(waits.begin(), waits.end(),
                       [&](const auto& wait) { return ended.contains(wait); }))
        continue;
      int begin = free[r];
      for (const auto& wait : waits) begin = std::max(begin, ended[wait]);
      const int takes = cell.pass == Pass::forward           ? forward
                        : cell.pass == Pass::backward_weight ? weight
                        : separate                           ? backward
                                                             : backward + weight;
      played.idle[r] += begin - free[r];
      free[r] = ended[{cell.pass, cell.stage, cell.micro}] = begin + takes;
      ++next[r];
      moved = true;
    }
  }
  for (std::size_t r = 0; r < cells.size(); ++r)
    if (next[r] < cells[r].size()) return std::nullopt;
  played.length = *std::max_element(free.begin(), free.end());
  for (std::size_t r = 0; r < cells.size(); ++r) played.idle[r] += played.length - free[r];
  return played;
}

// Idle share of the time of all ranks.
double bubble(const Played& played) {
  return std::accumulate(played.idle.begin(), played.idle.end(), 0.0) /
         (played.length * static_cast<double>(played.idle.size()));
}

TEST(Cells, match_the_schedules_of_the_papers) {
  EXPECT_EQ(text(cells_of(S::naive, round_robin(2), 0, 2)), "F0.0 B0.0 F0.1 B0.1");
  EXPECT_EQ(text(cells_of(S::gpipe, round_robin(2), 1, 3)), "F1.0 F1.1 F1.2 B1.0 B1.1 B1.2");
  EXPECT_EQ(text(cells_of(S::one_forward_one_backward, round_robin(3), 0, 4)),
            "F0.0 F0.1 F0.2 B0.0 F0.3 B0.1 B0.2 B0.3");
  EXPECT_EQ(text(cells_of(S::one_forward_one_backward, round_robin(3), 2, 3)),
            "F2.0 B2.0 F2.1 B2.1 F2.2 B2.2");
  EXPECT_EQ(text(cells_of(S::zb_h1, round_robin(3), 1, 4)),
            "F1.0 F1.1 B1.0 F1.2 B1.1 W1.0 F1.3 B1.2 W1.1 B1.3 W1.2 W1.3");
  EXPECT_EQ(text(cells_of(S::interleaved_1f1b, round_robin(2, 2), 1, 4)),
            "F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 F1.2 B1.0 F1.3 B1.1 F3.2 B3.2 F3.3 B3.3 B1.2 B1.3");
}

TEST(Cells, pass_every_micro_batch_through_every_stage_in_order_without_deadlock) {
  for (const S schedule :
       {S::naive, S::gpipe, S::one_forward_one_backward, S::interleaved_1f1b, S::zb_h1})
    for (int p = 1; p <= 8; ++p)
      for (int m = 1; m <= 3 * p + 1; ++m)
        for (const int chunks : {1, 3}) {
          if (chunks > 1 && (schedule == S::one_forward_one_backward || schedule == S::zb_h1))
            continue;
          const auto ranks = round_robin(p, chunks);
          SCOPED_TRACE(std::to_string(static_cast<int>(schedule)) + ": " + std::to_string(p) +
                       " ranks, " + std::to_string(chunks) + " chunks, " + std::to_string(m));
          EXPECT_TRUE(play(schedule, ranks, m));
          std::map<std::pair<Pass, int>, int> taken;
          for (int r = 0; r < p; ++r)
            for (const Cell& cell : cells_of(schedule, ranks, r, m)) {
              EXPECT_EQ(ranks[static_cast<std::size_t>(cell.stage)], r);
              EXPECT_EQ((taken[{cell.pass, cell.stage}]++), cell.micro);
            }
          for (const auto& [pass, count] : taken) EXPECT_EQ(count, m);
          EXPECT_EQ(taken.size(), ranks.size() * (schedule == S::zb_h1 ? 3 : 2));
        }
}

TEST(Cells, naive_and_gpipe_support_any_owners) {
  for (const S schedule : {S::naive, S::gpipe})
    for (const auto& ranks : {std::vector{0, 1, 0}, {1, 0, 2, 1, 0}, {2, 1, 0, 1, 2}})
      EXPECT_TRUE(play(schedule, ranks, 3));
}

TEST(Cells, have_the_idle_time_of_the_formulas) {
  for (int p = 1; p <= 8; ++p)
    for (int m = p; m <= 4 * p; m += p) {
      SCOPED_TRACE(std::to_string(p) + " ranks, " + std::to_string(m) + " micro-batches");
      const double n = p - 1;
      EXPECT_DOUBLE_EQ(bubble(*play(S::gpipe, round_robin(p), m)), n / (m + n));
      EXPECT_DOUBLE_EQ(bubble(*play(S::one_forward_one_backward, round_robin(p), m)), n / (m + n));
      EXPECT_DOUBLE_EQ(bubble(*play(S::naive, round_robin(p), m)), n / p);
      for (const int v : {2, 3})
        EXPECT_DOUBLE_EQ(bubble(*play(S::interleaved_1f1b, round_robin(p, v), m)), n / (v * m + n));
      for (const auto& [f, b, w] : {std::tuple{1, 1, 1}, {3, 4, 2}}) {
        const Played played = *play(S::zb_h1, round_robin(p), m + p, f, b, w);
        for (const int idle : played.idle) EXPECT_EQ(idle, (p - 1) * (f + b - w));
      }
    }
}

TEST(Cells, hold_at_most_one_micro_batch_per_remaining_stage_in_1f1b) {
  for (int p = 1; p <= 8; ++p)
    for (const int m : {1, p, 4 * p})
      for (int k = 0; k < p; ++k) {
        EXPECT_EQ(max_held(cells_of(S::one_forward_one_backward, round_robin(p), k, m), k),
                  std::min(p - k, m));
        EXPECT_EQ(max_held(cells_of(S::zb_h1, round_robin(p), k, m), k), std::min(p, m));
        EXPECT_EQ(max_held(cells_of(S::gpipe, round_robin(p), k, m), k), m);
        EXPECT_EQ(max_held(cells_of(S::naive, round_robin(p), k, m), k), 1);
      }
}

// A stage that two callers share takes one micro-batch of each forward, then backward. The
// stages of a caller take only its micro-batches. The last round may be short.
TEST(Cells, shared_stages_serve_callers_in_rounds) {
  const std::vector<int> ranks{0, 1, 0};
  EXPECT_EQ(text(cells_of(S::naive, ranks, 1, 3, {2, -1})), "F1.0 F1.1 B1.0 B1.1 F1.2 B1.2");
  EXPECT_EQ(text(cells_of(S::naive, ranks, 0, 3, {2, 0})),
            "F0.0 F2.0 B2.0 B0.0 F0.2 F2.2 B2.2 B0.2");
  EXPECT_EQ(text(cells_of(S::naive, ranks, 0, 3, {2, 1})), "F0.1 F2.1 B2.1 B0.1");
  EXPECT_EQ(text(cells_of(S::naive, ranks, 1, 2, {1, -1})), text(cells_of(S::naive, ranks, 1, 2)));
}

}  // namespace
}  // namespace trainyard::experiment
