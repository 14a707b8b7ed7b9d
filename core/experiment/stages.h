// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of layers to ranks if a rank has only some of them (model_parallel, pipeline). All
// ranks then take the same samples, one micro-batch after another.
#pragma once

#include <optional>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"

namespace trainyard::experiment {

// Name of a segment in a list of places: "2" for a layer, or "1.4" for a part of a block.
std::string place_name(const model::Segment& segment);

// Returns the floating-point operations of a segment for one sample, forward and backward. No input
// gradient is counted for segments up to the first one with parameters, because none is computed.
std::int64_t flops_of_sample(const model::Model& model, int segment);

// Returns the pipeline position of each segment, as assigned by strategy.stages.places. Requires a
// resolved experiment with stages.
std::vector<int> owners_of(const Resolved& resolved);
// Returns the pipeline position of each segment for any strategy: as `owners_of`, or 0 for all
// segments if there are no stages.
std::vector<int> owners_by_segment(const Resolved& resolved);

// Returns the stages that samples pass, in order, and the values sent between them. If the model is
// not split, there is one stage.
model::StageGraph stage_graph_of(const Resolved& resolved);

// Returns the experiment as the rank sees it: only layers of this rank have parameters
// (`model::part_of`), and split layers contain only the parts of this rank (`model::split_of`).
// Unchanged if the model is not split.
Resolved of_rank(const Resolved& resolved, int rank);

// Returns the first segment and the rank of each stage, in order. With the partition by_hand, they
// are as given. All other partitions minimize the largest cost of any rank; among equal ones, the
// sum of squared costs. The cost is:
//
// cost      seconds per sample: operations forward and backward / drawn speed
// measured  seconds of strategy.stages.times, scaled by how much slower than the fastest
//           device a device is drawn; until times are measured, as for cost
// memory    bytes of parameters, gradients and moments, and of the activations of all
//           micro-batches held at once (with recomputation, one activation per
//           sequence of recomputed segments)
//
// A tied layer is in the stage of the table whose weights it uses, unless it may be in another
// stage (ties.h). If there are more ranks than segments, the last ranks get none. In rpc only
// remote segments are partitioned: servers are positions 1 and up; all other segments are at
// position 0, the trainers.
std::vector<StagePlace> places_of(const Resolved& resolved);

// Returns the schedule that the strategy actually uses: naive if its stages do not overlap,
// otherwise the schedule that the document names.
PipelineSchedule schedule_of(const StrategySpec& strategy);

// True if a step makes one update for every micro-batch instead of one per step.
bool updates_each_micro_batch(const StrategySpec& strategy);

// Returns the fraction of time that ranks are idle, by the formula of the schedule (cells.h). It
// assumes equally long stages, no communication time and no update time; for zb_h1 also F = B = W.
// Returns nothing if no formula applies: stages are not assigned in turn, or the model is not
// split.
std::optional<double> ideal_bubble_fraction(const Resolved& resolved);

// Returns a text such as "rank 0 has layers 0 to 1.3, rank 1 has layers 1.4 to 3", followed by
// measured times and unused settings. Returns nothing if there are no stages.
std::optional<std::string> stages_line(const Resolved& resolved);

// Return problems of stages; none if the strategy does not split the model. `stage_problems` also
// checks against the model.
base::Problems split_problems(const Experiment& experiment);
base::Problems stage_problems(const Experiment& experiment, const model::Model& model);

}  // namespace trainyard::experiment
