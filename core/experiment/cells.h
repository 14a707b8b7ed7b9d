// SPDX-License-Identifier: GPL-3.0-or-later
// In which order a rank takes the micro-batches of a step through its stages, forward and back: the
// schedules of pipelines, as data.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

enum class Pass : std::uint8_t {
  forward,
  backward,        // gradients at inputs, and those of weights where they are no pass of their own
  backward_weight  // gradients of weights, later
};

// One stage takes one micro-batch one way.
struct Cell {
  Pass pass = Pass::forward;
  int stage = 0, micro = 0;
  bool operator==(const Cell&) const = default;
};

// Replicas of the first stage that call the later ones, which are there once, in turn: micro-batch
// i of a step is that of caller i % count.
struct Callers {
  int count = 1, own = -1;  // -1: whoever is called by all
  bool has(int micro) const { return own < 0 || micro % count == own; }
};

// Those of `rank`, in its order; `ranks` says by stage who has it. Whatever order a rank keeps, in
// every step all stages take all micro-batches both ways, those of a stage ascending, and every
// rank goes on in the end (check proves it of the plan). p: stages with a rank each, m:
// micro-batches.
//   naive:             one micro-batch after the other; one stage works at a time. Of several callers one of each together: a stage takes these forward, then
//                      back, so that a caller waits while others are served
//   gpipe:             all forward, then all back; idle (p-1)/(m+p-1) of the time with equal stages (Huang et al. 2019)
//   1f1b:              as many forward as stages follow, then one forward and one back in turn; as idle, but a stage holds no more micro-batches than
//                      stages follow it, and itself (Narayanan et al. 2019, 2021: PipeDream-Flush)
//   interleaved_1f1b:  the same with v stages on each rank, in turn; idle (p-1)/(vm+p-1), p ranks (Narayanan et al. 2021). m is a multiple of p; of another
//                      number, which the last steps of an epoch may have, as gpipe
//   zb_h1:             as 1f1b, but each stage's gradients of weights wait for so many backward passes as stages come before it, and fill what was idle;
//                      idle (p-1)(F+B-W) a step (Qi et al. 2023)
//   pipedream:         in the order of 1f1b, and as idle; a stage updates right after each backward cell (Harlap et al. 2018, Narayanan et al. 2019)
std::vector<Cell> cells_of(PipelineSchedule schedule, const std::vector<int>& ranks, int rank,
                           int micro_batches, const Callers& callers = {});

// The most micro-batches that are under way at once, each from the first to the last of its cells
// that are meant.
int most_held(const std::vector<Cell>& cells, const std::function<bool(const Cell&)>& is_meant);
int most_held(const std::vector<Cell>& cells, int stage);  // by a stage

}  // namespace trainyard::experiment
