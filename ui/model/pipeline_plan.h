// SPDX-License-Identifier: GPL-3.0-or-later
// What a pipeline should do: its stages, and a step of it on the simulator's clock, in cells. Pure;
// simulating may take long.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/experiment/mesh.h"
#include "ui/model/pass_cells.h"

namespace trainyard::ui {

// Who has what, and in which order.
struct PipelineShape {
  experiment::PipelineSchedule schedule = experiment::PipelineSchedule::naive;
  experiment::Mesh mesh;
  std::vector<model::Stage> stages;
  std::vector<std::string>
      layers;  // by stage: "0–1.3"; "loss", or nothing, of one that but calls others

  int ranks() const { return mesh.ranks(); }
  bool weights_apart() const { return schedule == experiment::PipelineSchedule::zb_h1; }
  bool has_cells(
      int stage) const;  // it has layers, or the loss; else its rank but hands on what another made
  int chunk(int stage) const;             // which of its ranks' stages with cells it is, from 0
  int chunks() const;                     // the most that a rank has
  std::string layers_of(int rank) const;  // "0–1, 4–5"
  bool operator==(const PipelineShape& other) const;
};

// A step of one program, such as the shorter one that ends an epoch.
struct PlannedStep {
  std::string program;  // "train"
  StepCells cells;
  std::vector<std::vector<std::string>> tokens;  // by rank and cell: of the cell's first op
  std::optional<double> ideal;  // experiment::ideal_bubble of so many micro-batches; nothing where
                                // no formula is known
  bool operator==(const PlannedStep&) const = default;
};

struct PipelinePlan {
  PipelineShape shape;
  std::vector<PlannedStep> steps;  // of every program that trains

  const PlannedStep* find(const std::string& program) const;  // null: there is none
  bool operator==(const PipelinePlan&) const = default;
};
using KnownPipeline = std::shared_ptr<const PipelinePlan>;

// Of an experiment in which ranks have stages of the model, as in model_parallel, pipeline, rpc and
// a hybrid of several; nothing of others.
std::optional<PipelineShape> pipeline_shape(const experiment::Resolved& experiment);

// Of such an experiment, its shape and its expanded plan. Of a program the second step of a few is
// taken. Problems: those of simulating it; cancelled.
base::Result<PipelinePlan> pipeline_plan(const experiment::Resolved& experiment,
                                         const PipelineShape& shape, const plan::Plan& expanded,
                                         std::stop_token stop = {});

}  // namespace trainyard::ui
