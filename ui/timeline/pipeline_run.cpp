// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/pipeline_run.h"

#include <algorithm>

#include "core/plan/text.h"

namespace trainyard::ui {
namespace {

OpCells cells_of(const NamedProgram& program, const PipelineShape& shape) {
  if (plan::purpose(program.name) != plan::Purpose::training) return {};
  std::vector<plan::Op> ops;
  for (const NamedOp& named : program.ops)
    ops.push_back(plan::parse_token(named.token).value_or(plan::Op()));
  return cells_of_ops(ops, shape.stages, shape.has_weight_pass());
}

// Ops of one rank in one step that belong to pipeline cells, and the addresses of their spans in
// the store.
struct Found {
  int program = -1;
  std::vector<ExecutedOp> ops;
  std::vector<SpanAddress> places;
};

void take(Found& found, const OpSpan& span, const SpanAddress& place) {
  if (span.program != found.program || (!found.ops.empty() && span.op <= found.ops.back().op))
    found = {span.program, {}, {}};  // the rank repeated the step: only the last execution counts
  found.ops.push_back({span.op, {span.begin, span.end}});
  found.places.push_back(place);
}

bool is_of_cell(const std::vector<OpCells>& programs, const OpSpan& span) {
  if (span.program >= programs.size()) return false;
  const OpCells& cells = programs[span.program];
  return span.op < cells.size() && cells[span.op];
}

// Finds the ops of a rank in a step that belong to cells. A rank may execute the step earlier or
// later than `step.range`, so a wider range is searched. All ops of cells are on one lane.
Found find(const SpanStore& spans, const std::vector<OpCells>& programs, int rank,
           const StepTime& step) {
  Found found;
  const Nanoseconds from = step.range.begin - step.range.width(),
                    until = step.range.end + step.range.width();
  for (int lane = 0; lane < spans.lanes(rank); ++lane)
    for (std::size_t t = 0; t < spans.lane(rank, lane).tracks().size(); ++t) {
      const SpanTrack& track = *spans.lane(rank, lane).tracks()[t];
      for (std::size_t i = track.first_ending_after(from, track.end());
           i < track.end() && track[i].begin < until; ++i)
        if (track[i].step == step.step && is_of_cell(programs, track[i]))
          take(found, track[i], {rank, lane, static_cast<int>(t), i});
    }
  return found;
}

// Returns the address of the first op of each cell.
std::vector<SpanAddress> places_of(const std::vector<PassCell>& cells, const Found& found) {
  std::vector<SpanAddress> places;
  std::size_t at = 0;
  for (const PassCell& cell : cells) {
    while (found.ops[at].op != cell.op) ++at;
    places.push_back(found.places[at]);
  }
  return places;
}

}  // namespace

RecordedCells recorded_cells(const SpanStore& spans, const PipelineShape& shape) {
  RecordedCells all;
  for (int rank = 0; rank < spans.ranks(); ++rank) {
    std::vector<OpCells>& own = all.emplace_back();
    for (const NamedProgram& program : spans.names(rank).programs)
      own.push_back(cells_of(program, shape));
    if (own.empty()) return {};
  }
  return std::ssize(all) < shape.ranks() ? RecordedCells() : all;
}

ExecutedStep ran_step(const SpanStore& spans, const RecordedCells& cells, const StepTime& step) {
  ExecutedStep ran{step.step, {}, {}, {}, 0};
  std::vector<Found> found;
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    found.push_back(find(spans, cells[rank], static_cast<int>(rank), step));
    if (const int program = found.back().program; program >= 0)
      ran.program =
          spans.names(static_cast<int>(rank)).programs[static_cast<std::size_t>(program)].name;
  }
  std::vector<std::vector<PassCell>> of_ranks;
  for (std::size_t rank = 0; rank < cells.size() && !ran.program.empty(); ++rank) {
    const auto& programs = spans.names(static_cast<int>(rank)).programs;
    const auto program = static_cast<std::size_t>(
        std::ranges::find(programs, ran.program, &NamedProgram::name) - programs.begin());
    const OpCells& meant = cells[rank][std::min(program, cells[rank].size() - 1)];
    of_ranks.push_back(pass_cells(meant, found[rank].ops));
    ran.places.push_back(places_of(of_ranks.back(), found[rank]));
    ran.lacking += count_ops(meant) - std::min(count_ops(meant), found[rank].ops.size());
  }
  ran.cells = StepCells::of(std::move(of_ranks));
  return ran;
}

std::optional<std::int32_t> last_complete_step(const telemetry::History& history) {
  std::optional<std::int32_t> last;
  for (int rank = 0; rank < history.ranks(); ++rank) {
    const telemetry::Series* reports = history.find({telemetry::Metric::step_seconds, rank, 0});
    if (!reports || reports->steps.empty()) return {};
    last = std::min(last.value_or(reports->steps.back()), reports->steps.back());
  }
  return last;
}

// Uses that, in each epoch, the steps with the full number of samples come before the shorter
// steps.
std::int32_t last_full_step(std::int32_t last, const plan::Schedule& schedule) {
  const std::int64_t epoch = schedule.steps_per_epoch(), full = schedule.full_steps_per_epoch;
  if (full == 0 || last % epoch < full) return last;
  return static_cast<std::int32_t>(last - last % epoch + full - 1);
}

}  // namespace trainyard::ui
