// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/pipeline_plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/experiment/imposed.h"
#include "core/experiment/stages.h"
#include "core/plan/text.h"
#include "core/session/advice/simulation_options.h"
#include "core/sim/simulator.h"

namespace trainyard::ui {
namespace {

constexpr std::int64_t kSteps = 3;  // number of full steps to simulate

// Returns a shorter schedule for simulation. It has at most kSteps full steps, followed by one step
// of each smaller size that occurs at the end of an epoch.
plan::Schedule shortened(const plan::Schedule& schedule) {
  const std::int64_t full = std::min(kSteps, schedule.full_steps_per_epoch);
  const std::vector<std::int64_t> tails(schedule.tails.size(), 1);
  plan::Schedule few;
  few.steps = full + std::ssize(tails);
  few.full_steps_per_epoch = full;
  few.tails = tails;
  return few;
}

// A simulated step: for each rank, the index of its program and the executed ops.
struct Simulated {
  std::vector<int> programs;
  std::vector<std::vector<ExecutedOp>> ran;
};
using ByStep = std::map<std::int64_t, Simulated>;

void take(ByStep& steps, int rank, const telemetry::Event& event) {
  const auto step = steps.find(event.step);
  const auto own = static_cast<std::size_t>(rank);
  if (event.kind != telemetry::EventKind::op || step == steps.end() ||
      step->second.programs[own] != event.index)
    return;
  step->second.ran[own].push_back({event.subject, {event.begin_ns, event.end_ns}});
}

base::Result<void> simulate(const experiment::Resolved& e, const plan::Plan& plan, ByStep& steps,
                            std::stop_token stop) {
  auto options = session::simulation_options(e, plan);
  if (!options) return base::fail(options.error());
  options->steps = plan.schedule.steps;
  options->watch.stop = std::move(stop);
  options->on_event = [&](int rank, const telemetry::Event& event) { take(steps, rank, event); };
  const auto outcome =
      sim::simulate(plan, topology::Network(experiment::as_imposed(e.document)), *options);
  return outcome ? base::Result<void>() : base::fail(outcome.error());
}

// Returns the ideal bubble fraction of the schedule; nothing if no formula applies. The formula of
// the interleaved schedule requires that the number of micro-batches is a multiple of p
// (experiment/cells.h).
std::optional<double> ideal(const experiment::Resolved& e, const PipelineShape& shape,
                            int micro_batches) {
  if (shape.schedule == experiment::PipelineSchedule::interleaved_1f1b &&
      micro_batches % shape.mesh.pipeline != 0)
    return std::nullopt;
  experiment::Resolved of = e;
  of.document.training.accumulation_steps = micro_batches;
  return experiment::ideal_bubble_fraction(of);
}

std::vector<std::string> tokens_of(const std::vector<PassCell>& cells,
                                   const plan::Program& program) {
  std::vector<std::string> tokens;
  tokens.reserve(cells.size());
  for (const PassCell& cell : cells)
    tokens.push_back(plan::token(program.ops[static_cast<std::size_t>(cell.op)]));
  return tokens;
}

PlannedStep planned_step(const std::string& name, const PipelineShape& shape,
                         const std::vector<plan::RankPlan>& ranks, const Simulated& simulated) {
  std::vector<std::vector<PassCell>> cells;
  PlannedStep step{name, {}, {}, {}};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const plan::Program& program =
        ranks[rank].programs[static_cast<std::size_t>(simulated.programs[rank])];
    cells.push_back(pass_cells(cells_of_ops(program.ops, shape.stages, shape.has_weight_pass()),
                               simulated.ran[rank]));
    step.tokens.push_back(tokens_of(cells.back(), program));
  }
  step.cells = StepCells::of(std::move(cells));
  return step;
}

// Returns the step to show for each program: the program's second step, if it has several. The
// second step overlaps with the steps before and after it and loads the samples of the next step,
// which the first and the last step do not do.
std::map<std::int64_t, std::string> steps_to_show(const plan::Schedule& schedule) {
  std::map<std::string, std::vector<std::int64_t>> by_program;
  for (std::int64_t step = 0; step < schedule.steps; ++step)
    by_program[schedule.program(step)].push_back(step);
  std::map<std::int64_t, std::string> steps;
  for (const auto& [program, all] : by_program) steps[all[all.size() > 1 ? 1 : 0]] = program;
  return steps;
}

}  // namespace

bool PipelineShape::has_cells(int stage) const {
  return !stages[static_cast<std::size_t>(stage)].empty() || stage + 1 == std::ssize(stages);
}

int PipelineShape::chunk(int stage) const {
  int before = 0;
  for (int k = 0; k < stage; ++k)
    if (has_cells(k) &&
        stages[static_cast<std::size_t>(k)].rank == stages[static_cast<std::size_t>(stage)].rank)
      ++before;
  return before;
}

int PipelineShape::chunks() const {
  int most = 0;
  for (int k = 0; k < std::ssize(stages); ++k)
    if (has_cells(k)) most = std::max(most, chunk(k) + 1);
  return most;
}

std::string PipelineShape::layers_of(int rank) const {
  std::string all;
  for (std::size_t k = 0; k < stages.size(); ++k)
    if (stages[k].rank == mesh.place_of(rank).stage && !layers[k].empty())
      all += (all.empty() ? "" : ", ") + layers[k];
  return all;
}

bool PipelineShape::operator==(const PipelineShape& other) const {
  const auto same = [](const model::Stage& a, const model::Stage& b) {
    return a.first == b.first && a.last == b.last && a.rank == b.rank;
  };
  return schedule == other.schedule && mesh == other.mesh && layers == other.layers &&
         std::ranges::equal(stages, other.stages, same);
}

const PlannedStep* PipelinePlan::find(const std::string& program) const {
  const auto at = std::ranges::find(steps, program, &PlannedStep::program);
  return at == steps.end() ? nullptr : &*at;
}

std::optional<PipelineShape> pipeline_shape(const experiment::Resolved& e) {
  const experiment::Mesh mesh = experiment::mesh_of(e);
  const bool whole = e.document.strategy.kind == experiment::StrategyKind::hybrid &&
                     mesh.pipeline == 1;  // a mesh without pipeline stages has no pipeline
  if (!experiment::has_stages(e.document.strategy.kind) || whole) return std::nullopt;
  PipelineShape shape{
      experiment::schedule_of(e.document.strategy), mesh, experiment::stage_graph_of(e).stages, {}};
  const auto name = [&](int s) {
    return experiment::place_name(e.model.segments[static_cast<std::size_t>(s)]);
  };
  for (const model::Stage& stage : shape.stages) {
    const bool calls = stage.last < stage.first,
               ends = stage.first == static_cast<int>(e.model.segments.size());
    shape.layers.push_back(
        calls ? (ends ? "loss" : "")
              : name(stage.first) + (stage.last > stage.first ? "\u2013" + name(stage.last) : ""));
  }
  return shape;
}

base::Result<PipelinePlan> pipeline_plan(const experiment::Resolved& e, const PipelineShape& shape,
                                         const plan::Plan& expanded, std::stop_token stop) {
  plan::Plan few = expanded;
  few.schedule = shortened(expanded.schedule);
  std::vector<plan::RankPlan> ranks;
  ranks.reserve(static_cast<std::size_t>(shape.ranks()));
  for (int rank = 0; rank < shape.ranks(); ++rank) ranks.push_back(few.rank_plan(rank));
  ByStep steps;
  for (const auto& [step, program] : steps_to_show(few.schedule)) {
    steps[step].ran.resize(ranks.size());
    for (const plan::RankPlan& rank : ranks) steps[step].programs.push_back(rank.program(program));
  }
  if (const auto ok = simulate(e, few, steps, std::move(stop)); !ok) return base::fail(ok.error());
  PipelinePlan planned{shape, {}};
  for (const auto& [number, simulated] : steps)
    planned.steps.push_back(planned_step(few.schedule.program(number), shape, ranks, simulated));
  for (PlannedStep& step : planned.steps) step.ideal = ideal(e, shape, step.cells.micro_batches());
  return planned;
}

}  // namespace trainyard::ui
