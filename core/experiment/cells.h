// SPDX-License-Identifier: GPL-3.0-or-later
// Pipeline schedules as data: the order in which a rank processes the micro-batches of a step
// through its stages, forward and backward.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

enum class Pass : std::uint8_t {
  forward,
  backward,        // Gradient of the input, and of weights unless they have a separate pass.
  backward_weight  // Gradient of weights, in a separate later pass.
};

// One pass of one micro-batch through one stage, forward or backward.
struct Cell {
  Pass pass = Pass::forward;
  int stage = 0, micro = 0;
  bool operator==(const Cell&) const = default;
};

// Replicas of the first stage (rpc trainers). All replicas call the later stages, each of which
// exists only once. Micro-batch i of a step belongs to caller i % count.
struct CallerSet {
  // Number of callers, and index of the only caller whose micro-batches this rank processes. Index
  // -1: the rank processes the micro-batches of all callers.
  int count = 1, own = -1;
  bool has(int micro) const { return own < 0 || micro % count == own; }
};

// Returns the cells of `rank`, in execution order. `ranks` gives the rank of each stage. In every
// step each stage processes all micro-batches forward and backward, in ascending order. No schedule
// deadlocks (`check` proves it for the plan). Below, p is the number of stages, and m the number of
// micro-batches; "idle" is the idle fraction of time if all stages take equally long.
//
// naive:             one micro-batch at a time; one stage works at a time. With several callers
//                    (rpc trainers), a stage takes one micro-batch of each caller: it runs
//                    these forward, then backward, so each caller waits for the others
// gpipe:             all forward, then all backward; idle (p-1)/(m+p-1) (Huang et al. 2019)
// 1f1b:              first one forward pass for each later stage, then forward and backward
//                    passes alternate; idle as gpipe, but a stage holds at most as many
//                    micro-batches as there are stages from it to the last
//                    (Narayanan et al. 2019, 2021: PipeDream-Flush)
// interleaved_1f1b:  1f1b with v stages per rank, assigned round-robin; idle
//                    (p-1)/(vm+p-1), p ranks (Narayanan et al. 2021). If m is no multiple
//                    of p, as may happen in the last steps of an epoch, the order is that of
//                    gpipe
// zb_h1:             as 1f1b, but weight gradients of a stage are delayed by as many
//                    backward passes as stages precede it, and fill idle time;
//                    idle (p-1)(F+B-W) per step (Qi et al. 2023)
// pipedream:         order and idle time of 1f1b; a stage updates right after each backward
//                    cell (Harlap et al. 2018, Narayanan et al. 2019)
std::vector<Cell> cells_of(PipelineSchedule schedule, const std::vector<int>& ranks, int rank,
                           int micro_batches, const CallerSet& callers = {});

// Returns the maximum number of micro-batches in flight at once. A micro-batch is in flight from
// its first to its last cell, counting only cells for which `is_meant` is true.
int max_held(const std::vector<Cell>& cells, const std::function<bool(const Cell&)>& is_meant);
int max_held(const std::vector<Cell>& cells, int stage);  // Counts only cells of one stage.

}  // namespace trainyard::experiment
