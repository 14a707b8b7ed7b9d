// SPDX-License-Identifier: GPL-3.0-or-later
// Who has which layers, where a rank has but some (model_parallel, pipeline). All ranks then take
// the same samples, one micro-batch after the other.
#pragma once

#include <optional>

#include "core/experiment/resolve.h"
#include "core/model/crossing.h"

namespace trainyard::experiment {

// How a place names a segment: "2", or of a block "1.4".
std::string place_name(const model::Segment& segment);

// Floating-point operations of a segment for one sample, forward and backward: those that are made,
// so before the first parameters no gradient at its input.
std::int64_t flops_of_sample(const model::Model& model, int segment);

// By segment, the rank that has it, as strategy.stages.places says. Of a resolved experiment whose
// strategy splits the model.
std::vector<int> owners_of(const Resolved& resolved);
std::vector<int> owners_by_segment(
    const Resolved& resolved);  // of any strategy: where nobody has stages, 0 has all

// The stages that samples pass, in their order, and what crosses between them. Where nothing is
// split there is one.
model::Course course_of(const Resolved& resolved);

// The same experiment as a rank sees it: of the model its own layers alone have parameters
// (model::part_of), or of layers it has its part (model::split_of). Unchanged where nothing is
// split.
Resolved of_rank(const Resolved& resolved, int rank);

// The places of whatever is not by_hand, rank after rank, so that what the worst of them takes is
// as little as can be; among such, so that they are as alike as can be (least sum of squares). Of
// cost: seconds of a sample, the floating-point operations forward and backward over the drawn
// speed. Of measured: the seconds of strategy.stages.times, as many times more as a device is drawn
// slower than the fastest; until there are any, as cost. Of memory: bytes of parameters, gradients
// and moments, and of the activations of as many micro-batches as the rank holds at once, where
// they are computed again of one in each run. What is tied to a layer is where that is, unless it
// may be apart (ties.h). Those of by_hand as they are written. A rank more than there are segments
// has none. In rpc of what is remote, by servers, which are the places from 1 on; all else is at
// place 0, the trainers.
std::vector<StagePlace> places_of(const Resolved& resolved);

// That of a strategy which splits the model.
PipelineSchedule schedule_of(const StrategySpec& strategy);

// Whether a step is as many updates as it has micro-batches.
bool updates_each_micro_batch(const StrategySpec& strategy);

// Of all ranks' time the part that they idle, by the formula of the schedule (cells.h): with stages
// that take equally long, links that take no time, the update left out, and where gradients of
// weights come later, F, B and W alike. Nothing where no formula is known: a rank has stages out of
// turn, or nothing is split.
std::optional<double> ideal_bubble(const Resolved& resolved);

// Who has what, for a person: "rank 0 has layers 0 to 1.3, rank 1 has layers 1.4 to 3", and whether
// that was measured. Nothing where nothing is split.
std::optional<std::string> stages_said(const Resolved& resolved);

// What is wrong with stages, of any experiment: none where the strategy splits no model. The other,
// once the model is known.
base::Problems split_problems(const Experiment& experiment);
base::Problems stage_problems(const Experiment& experiment, const model::Model& model);

}  // namespace trainyard::experiment
