// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/cells.h"

#include <algorithm>
#include <map>

namespace trainyard::experiment {
namespace {

std::vector<int> stages_on(const std::vector<int>& ranks, int rank) {
  std::vector<int> stages;
  for (std::size_t k = 0; k < ranks.size(); ++k)
    if (ranks[k] == rank) stages.push_back(static_cast<int>(k));
  return stages;
}

// Returns the cells (passes of micro-batches) of a rank for a schedule with groups of `of_round`
// micro-batches. A group passes all stages forward, then all stages backward; then the next group
// starts.
std::vector<Cell> in_rounds(const std::vector<int>& stages, int micro_batches, int of_round) {
  std::vector<Cell> cells;
  for (int first = 0; first < micro_batches; first += of_round) {
    const int end = std::min(first + of_round, micro_batches);
    for (const int k : stages)
      for (int m = first; m < end; ++m) cells.push_back({Pass::forward, k, m});
    for (auto k = stages.rbegin(); k != stages.rend(); ++k)
      for (int m = first; m < end; ++m) cells.push_back({Pass::backward, *k, m});
  }
  return cells;
}

std::vector<Cell> naive(const std::vector<int>& stages, int micro_batches,
                        const CallerSet& callers) {
  std::vector<Cell> cells = in_rounds(stages, micro_batches, callers.count);
  std::erase_if(cells, [&](const Cell& cell) { return !callers.has(cell.micro); });
  return cells;
}

// Emits `count` forward and `count` backward passes. The first backward pass comes after `ahead` +
// 1 forward passes; then both directions alternate. `forward(i)` and `backward(i)` add the i-th
// cell of each direction.
template <class Forward, class Backward>
void forward_then_backward(int count, int ahead, Forward forward, Backward backward) {
  for (int i = 0; i < std::min(ahead, count); ++i) forward(i);
  for (int i = 0; i < count; ++i) {
    if (i + ahead < count) forward(i + ahead);
    backward(i);
  }
}

// Returns the cells of the 1f1b schedule for one stage. If `has_weight_pass` (zb_h1), the weight
// gradients of a micro-batch are computed `stage` backward passes later than its input gradients.
std::vector<Cell> one_forward_one_backward(int stage, int stages, int micro_batches,
                                           bool has_weight_pass) {
  std::vector<Cell> cells;
  const auto add = [&](Pass pass, int m) {
    if (m >= 0) cells.push_back({pass, stage, m});
  };
  const auto back = [&](int m) {
    add(Pass::backward, m);
    if (has_weight_pass) add(Pass::backward_weight, m - stage);
  };
  forward_then_backward(
      micro_batches, stages - 1 - stage, [&](int m) { add(Pass::forward, m); }, back);
  for (int m = std::max(0, micro_batches - stage); has_weight_pass && m < micro_batches; ++m)
    add(Pass::backward_weight, m);
  return cells;
}

// Returns the cells of a rank with several stages. Micro-batches are processed in groups of p. A
// group passes the rank's first stage, then its second stage, and so on; then the next group
// follows.
std::vector<Cell> interleaved(const std::vector<int>& own, int position, int p, int micro_batches) {
  const int v = static_cast<int>(own.size()), all = micro_batches * v;
  const auto stage = [&](int i, bool forward) {
    const int chunk = i % (p * v) / p;
    return own[static_cast<std::size_t>(forward ? chunk : v - 1 - chunk)];
  };
  const auto micro = [&](int i) { return i / (p * v) * p + i % p; };
  std::vector<Cell> cells;
  forward_then_backward(
      all, 2 * (p - 1 - position) + (v - 1) * p,
      [&](int i) {
        cells.push_back({Pass::forward, stage(i, true), micro(i)});
      },
      [&](int i) {
        cells.push_back({Pass::backward, stage(i, false), micro(i)});
      });
  return cells;
}

}  // namespace

std::vector<Cell> cells_of(PipelineSchedule schedule, const std::vector<int>& ranks, int rank,
                           int micro_batches, const CallerSet& callers) {
  const std::vector<int> own = stages_on(ranks, rank);
  const int stages = static_cast<int>(ranks.size());
  switch (schedule) {
    case PipelineSchedule::naive: return naive(own, micro_batches, callers);
    case PipelineSchedule::gpipe: break;
    case PipelineSchedule::pipedream:
    case PipelineSchedule::one_forward_one_backward:
    case PipelineSchedule::zb_h1:
      return own.empty() ? std::vector<Cell>{}
                         : one_forward_one_backward(own.front(), stages, micro_batches,
                                                    schedule == PipelineSchedule::zb_h1);
    case PipelineSchedule::interleaved_1f1b: {
      const int p = own.empty() ? 1 : stages / static_cast<int>(own.size());
      if (!own.empty() && micro_batches % p == 0)
        return interleaved(own, own.front(), p, micro_batches);
      break;
    }
  }
  return in_rounds(own, micro_batches, micro_batches);
}

int max_held(const std::vector<Cell>& cells, const std::function<bool(const Cell&)>& is_meant) {
  std::map<int, std::pair<std::size_t, std::size_t>>
      spans;  // By micro-batch: index of its first and last cell.
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (is_meant(cells[i])) spans.try_emplace(cells[i].micro, i, i).first->second.second = i;
  std::vector<int> change(cells.size() + 1, 0);
  for (const auto& [micro, span] : spans) {
    ++change[span.first];
    --change[span.second + 1];
  }
  int held = 0, most = 0;
  for (const int c : change) most = std::max(most, held += c);
  return most;
}

int max_held(const std::vector<Cell>& cells, int stage) {
  return max_held(cells, [stage](const Cell& cell) { return cell.stage == stage; });
}

}  // namespace trainyard::experiment
