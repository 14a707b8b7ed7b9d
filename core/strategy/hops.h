// SPDX-License-Identifier: GPL-3.0-or-later
// What crosses between the stages of a model that is split, and by which ways.
#pragma once

#include <utility>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/crossing.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// An output on its way to a later stage, or the gradient at it on its way back. All that goes from
// one stage to another goes one way, which is a group of two in every pipeline; in a step its
// bucket of micro-batch m is m * (values of the way) + number.
struct Hop : model::Crossing {
  std::int32_t way = 0, number = 0, values = 1;
};

// How a model is split along a pipeline: its course, and the hops on it. A rank of the pipeline may
// have several stages; where nothing is split, one has all.
struct Split : model::Course {
  explicit Split(const experiment::Resolved& experiment);

  std::vector<int> owners;  // by segment, the rank of the pipeline
  std::vector<Hop> hops;
  std::vector<std::pair<int, int>> ways;  // from a rank of the pipeline to another

  std::vector<int> ranks() const;  // by stage
  int stage_of(int segment) const { return paths[static_cast<std::size_t>(segment)].front(); }
  bool brings(int value) const;  // what samples bring, to ranks that have none

 private:
  void add_hop(const model::Crossing& crossing);
};

}  // namespace trainyard::strategy
