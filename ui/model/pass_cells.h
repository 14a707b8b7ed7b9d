// SPDX-License-Identifier: GPL-3.0-or-later
// A step of a pipeline as papers draw it: cells, each of which is what one stage does of one
// micro-batch in one pass, and between them what is idle. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/cells.h"
#include "core/model/part.h"
#include "core/plan/plan.h"
#include "ui/model/op_span.h"

namespace trainyard::ui {

// Which cell the ops of a rank's program belong to, by number; nothing of those of none: the
// update, what is sent, and the samples that are brought in. The loss is part of the last stage's
// way back, and so is what is computed again there. `weights_apart`: gradients of weights that come
// after the gradient at their stage's input are a pass of their own.
using OpCells = std::vector<std::optional<experiment::Cell>>;
OpCells cells_of_ops(const std::vector<plan::Op>& ops, const std::vector<model::Stage>& stages,
                     bool weights_apart);
std::size_t count_ops(const OpCells& cells);  // that belong to one

// An op that ran, by its number in the program.
struct RanOp {
  int op = 0;
  TimeRange range;
};

// From the first begin to the last end of its ops. `op` is the first of these.
struct PassCell {
  experiment::Cell of;
  int op = 0;
  TimeRange range;
  bool operator==(const PassCell&) const = default;
};

// Of one rank, from its ops in the order in which they ran.
std::vector<PassCell> pass_cells(const OpCells& cells, const std::vector<RanOp>& ops);

// One step of all ranks, by rank and in order of time.
struct StepCells {
  std::vector<std::vector<PassCell>> ranks;
  TimeRange range =
      {};  // from the first begin to the last end of all cells; empty where there are none

  static StepCells of(std::vector<std::vector<PassCell>> ranks);
  int micro_batches() const;
  // Of all ranks' time in the range the part in which they are in no cell: 1 - busy / (p x
  // makespan). The update comes after, and is not in it, as in the formulas of schedules
  // (experiment::ideal_bubble).
  double bubble() const;
  std::vector<TimeRange> idle(int rank) const;  // within the range
  const PassCell* find(int rank, const experiment::Cell& of) const;
  bool operator==(const StepCells&) const = default;
};

}  // namespace trainyard::ui
