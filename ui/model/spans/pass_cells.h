// SPDX-License-Identifier: GPL-3.0-or-later
// Pipeline diagram of a step, as in papers about pipeline schedules. A cell is the forward or
// backward pass of one micro-batch through one stage. Between cells, the rank is idle. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/cells.h"
#include "core/model/local_model.h"
#include "core/plan/plan.h"
#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Returns the cell of each op of a rank's program, by op index. Update, communication and input ops
// have no cell. Ops of the loss and of the recomputation of outputs belong to the cell of the
// backward pass. `has_weight_pass`: true if the schedule delays weight gradients (zb_h1): then
// those that are computed after the input gradient of their stage have cells of their own.
using OpCells = std::vector<std::optional<experiment::Cell>>;
OpCells cells_of_ops(const std::vector<plan::Op>& ops, const std::vector<model::Stage>& stages,
                     bool has_weight_pass);
std::size_t count_ops(const OpCells& cells);  // number of ops that have a cell

// An executed op. `op` is the index of the op in its program.
struct ExecutedOp {
  int op = 0;
  TimeRange range;
};

// An executed cell of the pipeline diagram. `range` is from the first begin to the last end of its
// ops, and `op` is the index of the first of them.
struct PassCell {
  experiment::Cell of;
  int op = 0;
  TimeRange range;
  bool operator==(const PassCell&) const = default;
};

// Returns the cells of one rank from its ops in execution order.
std::vector<PassCell> pass_cells(const OpCells& cells, const std::vector<ExecutedOp>& ops);

// Cells of one step, by rank and in time order.
struct StepCells {
  std::vector<std::vector<PassCell>> ranks;
  TimeRange range = {};  // from the first begin to the last end of all cells; empty without cells

  static StepCells of(std::vector<std::vector<PassCell>> ranks);
  int micro_batches() const;
  // Returns the fraction of all ranks' time within the range in which they execute no cell: 1 -
  // busy / (p x makespan). The time of the update is not part of the range, as in the formulas of
  // schedules (`experiment::ideal_bubble_fraction`).
  double bubble() const;
  std::vector<TimeRange> idle(int rank) const;  // times without a cell, within the range
  const PassCell* find(int rank, const experiment::Cell& of) const;
  bool operator==(const StepCells&) const = default;
};

}  // namespace trainyard::ui
