// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/spans/pass_cells.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard::ui {
namespace {

using experiment::Cell;
using experiment::Pass;
using plan::OpKind;

bool goes_forward(OpKind kind) {
  return kind == OpKind::forward || kind == OpKind::statistics || kind == OpKind::partial;
}

// True for ops that belong to a pass through a stage: those with a micro-batch and a segment, and
// the loss, which belongs to the last segment.
bool passes(const plan::Op& op) {
  return op.micro >= 0 && (op.segment >= 0 || op.kind == OpKind::loss);
}

int stage_of(const plan::Op& op, const std::vector<model::Stage>& stages) {
  if (op.kind == OpKind::loss) return static_cast<int>(stages.size()) - 1;
  const auto at = std::ranges::find_if(
      stages, [&](const model::Stage& stage) { return stage.has(op.segment); });
  return at == stages.end() ? -1 : static_cast<int>(at - stages.begin());
}

// Returns, for each (stage, micro-batch), the index of the last op that computes the gradient at
// the input of a segment.
std::map<std::pair<int, int>, std::size_t> last_backward(const std::vector<plan::Op>& ops,
                                                         const std::vector<model::Stage>& stages) {
  std::map<std::pair<int, int>, std::size_t> last;
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (ops[i].kind == OpKind::backward_input || ops[i].kind == OpKind::loss)
      last[{stage_of(ops[i], stages), ops[i].micro}] = i;
  return last;
}

}  // namespace

OpCells cells_of_ops(const std::vector<plan::Op>& ops, const std::vector<model::Stage>& stages,
                     bool has_weight_pass) {
  const auto handed_on = last_backward(ops, stages);
  OpCells cells(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const plan::Op& op = ops[i];
    const int stage = passes(op) ? stage_of(op, stages) : -1;
    if (stage < 0) continue;
    const auto last = handed_on.find({stage, op.micro});
    const bool later = has_weight_pass && op.kind == OpKind::backward_weight &&
                       (last == handed_on.end() || i > last->second);
    cells[i] = Cell{goes_forward(op.kind) ? Pass::forward
                    : later               ? Pass::backward_weight
                                          : Pass::backward,
                    stage, op.micro};
  }
  return cells;
}

std::size_t count_ops(const OpCells& cells) {
  return static_cast<std::size_t>(
      std::ranges::count_if(cells, [](const auto& cell) { return cell.has_value(); }));
}

std::vector<PassCell> pass_cells(const OpCells& cells, const std::vector<ExecutedOp>& ops) {
  std::vector<PassCell> made;
  for (const ExecutedOp& ran : ops) {
    const auto number = static_cast<std::size_t>(ran.op);
    if (number >= cells.size() || !cells[number]) continue;
    if (made.empty() || made.back().of != *cells[number])
      made.push_back({*cells[number], ran.op, ran.range});
    else made.back().range.end = std::max(made.back().range.end, ran.range.end);
  }
  return made;
}

StepCells StepCells::of(std::vector<std::vector<PassCell>> ranks) {
  std::optional<TimeRange> all;
  for (const auto& cells : ranks)
    for (const PassCell& cell : cells) {
      if (!all) all = cell.range;
      all = TimeRange{std::min(all->begin, cell.range.begin), std::max(all->end, cell.range.end)};
    }
  return {std::move(ranks), all.value_or(TimeRange{})};
}

int StepCells::micro_batches() const {
  int last = -1;
  for (const auto& cells : ranks)
    for (const PassCell& cell : cells) last = std::max(last, cell.of.micro);
  return last + 1;
}

double StepCells::bubble() const {
  const Nanoseconds makespan = range.width();
  if (makespan <= 0) return 0;
  Nanoseconds busy = 0;
  for (const auto& cells : ranks)
    for (const PassCell& cell : cells) busy += cell.range.width();
  return 1 - static_cast<double>(busy) /
                 (static_cast<double>(ranks.size()) * static_cast<double>(makespan));
}

std::vector<TimeRange> StepCells::idle(int rank) const {
  std::vector<TimeRange> gaps;
  Nanoseconds free = range.begin;
  for (const PassCell& cell : ranks[static_cast<std::size_t>(rank)]) {
    if (cell.range.begin > free) gaps.push_back({free, cell.range.begin});
    free = std::max(free, cell.range.end);
  }
  if (range.end > free) gaps.push_back({free, range.end});
  return gaps;
}

const PassCell* StepCells::find(int rank, const Cell& of) const {
  if (rank < 0 || rank >= static_cast<int>(ranks.size())) return nullptr;
  const auto& cells = ranks[static_cast<std::size_t>(rank)];
  const auto at = std::ranges::find(cells, of, &PassCell::of);
  return at == cells.end() ? nullptr : &*at;
}

}  // namespace trainyard::ui
