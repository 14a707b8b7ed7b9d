// SPDX-License-Identifier: GPL-3.0-or-later
// Pipeline diagram of a step, as in papers. A cell is one pass of one micro-batch through one
// stage; there is idle time between cells. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/cells.h"
#include "core/model/local_model.h"
#include "core/plan/plan.h"
#include "ui/model/spans/op_span.h"

namespace trainyard::ui {

// Returns the cell of each op of a rank's program, by op number. Update, communication and input
// ops have no cell. The loss and the recomputation of outputs belong to the backward pass of the
// last stage. `has_weight_pass`: weight gradients that are computed after the gradient at their
// stage's input form a separate pass.
using OpCells = std::vector<std::optional<experiment::Cell>>;
OpCells cells_of_ops(const std::vector<plan::Op>& ops, const std::vector<model::Stage>& stages,
                     bool has_weight_pass);
std::size_t count_ops(const OpCells& cells);  // number of ops that have a cell

// An executed op, by its number in the program.
struct ExecutedOp {
  int op = 0;
  TimeRange range;
};

// A cell, from the first begin to the last end of its ops. `op` is the first of these ops.
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
  // Returns the fraction of all ranks' time in the range that is in no cell: 1 - busy / (p x
  // makespan). The time of the update does not count, as in the formulas of schedules
  // (`experiment::ideal_bubble_fraction`).
  double bubble() const;
  std::vector<TimeRange> idle(int rank) const;  // times without a cell, within the range
  const PassCell* find(int rank, const experiment::Cell& of) const;
  bool operator==(const StepCells&) const = default;
};

}  // namespace trainyard::ui
