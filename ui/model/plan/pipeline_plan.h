// SPDX-License-Identifier: GPL-3.0-or-later
// Expected execution of a pipeline: its stages, and one simulated step as cells. Pure; simulation
// may take long.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/mesh.h"
#include "ui/model/spans/pass_cells.h"

namespace trainyard::ui {

// Shape of a pipeline: the schedule, and the layers and rank of each stage.
struct PipelineShape {
  experiment::PipelineSchedule schedule = experiment::PipelineSchedule::naive;
  experiment::Mesh mesh;
  std::vector<model::Stage> stages;
  std::vector<std::string> layers;  // by stage: "0–1.3", "loss"; empty if the stage has no layers

  int ranks() const { return mesh.ranks(); }
  bool has_weight_pass() const { return schedule == experiment::PipelineSchedule::zb_h1; }
  // True if the stage has layers or computes the loss. Otherwise the rank of the stage only
  // forwards data.
  bool has_cells(int stage) const;
  int chunk(int stage) const;  // index of the stage among its rank's stages with cells, from 0
  int chunks() const;          // maximum number of stages with cells per rank
  std::string layers_of(int rank) const;  // "0–1, 4–5"
  bool operator==(const PipelineShape& other) const;
};

// The step to show for one program. A run has several programs if, for example, the step at the end
// of an epoch is shorter.
struct PlannedStep {
  std::string program;  // name of the program: "train"
  StepCells cells;
  std::vector<std::vector<std::string>> tokens;  // token of a cell's first op, by rank and cell
  // Ideal bubble fraction for this number of micro-batches (`experiment::ideal_bubble_fraction`);
  // nothing if no formula applies.
  std::optional<double> ideal;
  bool operator==(const PlannedStep&) const = default;
};

struct PipelinePlan {
  PipelineShape shape;
  std::vector<PlannedStep> steps;  // one for each training program

  const PlannedStep* find(const std::string& program) const;  // null if there is none
  bool operator==(const PipelinePlan&) const = default;
};
using PipelinePlanPtr = std::shared_ptr<const PipelinePlan>;

// Returns the stages of an experiment that assigns stages of the model to ranks (model_parallel,
// pipeline, rpc, and hybrids of several strategies). Returns nothing for other experiments.
std::optional<PipelineShape> pipeline_shape(const experiment::Resolved& experiment);

// Simulates a few steps of the expanded plan and returns the second step of each program. Errors:
// those of the simulation, and `canceled`.
base::Result<PipelinePlan> pipeline_plan(const experiment::Resolved& experiment,
                                         const PipelineShape& shape, const plan::Plan& expanded,
                                         std::stop_token stop = {});

}  // namespace trainyard::ui
