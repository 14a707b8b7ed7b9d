// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of layers to ranks if a rank has only some of them (model_parallel, pipeline). All
// ranks then take the same samples, one micro-batch after another.
#pragma once

#include <optional>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"

namespace trainyard::experiment {

// Name of a segment in a place: "2", or "1.4" in a block.
std::string place_name(const model::Segment& segment);

// Executed floating-point operations of a segment for one sample, forward and backward: without the
// input gradient up to the first layer with parameters.
std::int64_t flops_of_sample(const model::Model& model, int segment);

// Returns the place (position in the pipeline) of each segment, from strategy.stages.places. For a
// resolved experiment with stages.
std::vector<int> owners_of(const Resolved& resolved);
std::vector<int> owners_by_segment(
    const Resolved& resolved);  // For any strategy: 0 for all segments if there are no stages.

// Returns the stages that samples pass, in order, and the values sent between them. One stage if
// nothing is split.
model::StageGraph stage_graph_of(const Resolved& resolved);

// Returns the experiment as the rank sees it: only its local layers have parameters
// (`model::part_of`), or only its parts of layers (`model::split_of`). Unchanged if nothing is
// split.
Resolved of_rank(const Resolved& resolved, int rank);

// Returns the places, in order. For by_hand they are as written. Otherwise they minimize the
// largest cost of any rank, and among those the sum of squared costs. The cost is:
//
// cost      seconds per sample: operations forward and backward / drawn speed
// measured  seconds of strategy.stages.times, scaled by how much slower than the fastest
//           device a device is drawn; without times as cost
// memory    bytes of parameters, gradients and moments, and of the activations of all
//           micro-batches held at once (with recomputation of one per run)
//
// A tied layer is where its owner is, unless it may be in another stage (ties.h). Ranks beyond the
// number of segments get none. In rpc only remote segments are partitioned, over servers, which are
// the places from 1 on; all else is at place 0, the trainers.
std::vector<StagePlace> places_of(const Resolved& resolved);

// Schedule that the strategy actually uses: naive unless stages overlap.
PipelineSchedule schedule_of(const StrategySpec& strategy);

// True if a step makes one update per micro-batch.
bool updates_each_micro_batch(const StrategySpec& strategy);

// Idle fraction of all ranks' time by the formula of the schedule (cells.h). Assumes equally long
// stages, no communication time, no update, and for zb_h1 F = B = W. Nothing if no formula is
// known: a rank has stages out of turn, or nothing is split.
std::optional<double> ideal_bubble_fraction(const Resolved& resolved);

// "rank 0 has layers 0 to 1.3, rank 1 has layers 1.4 to 3", followed by measured times and unused
// settings. Nothing if there are no stages.
std::optional<std::string> stages_line(const Resolved& resolved);

// Return problems of stages; none if the strategy does not split the model. `stage_problems` needs
// the model.
base::Problems split_problems(const Experiment& experiment);
base::Problems stage_problems(const Experiment& experiment, const model::Model& model);

}  // namespace trainyard::experiment
