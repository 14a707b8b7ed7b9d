// SPDX-License-Identifier: GPL-3.0-or-later
// Values that cross between the stages of a split model, and their routes.
#pragma once

#include <utility>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// A transfer of an output to a later stage, or of its gradient back. All transfers from one stage
// to another use one way: a group of two ranks in every pipeline. In a step, the bucket of
// micro-batch m is m * (values of the way) + number.
struct Hop : model::Crossing {
  std::int32_t way = 0, number = 0, values = 1;
};

// Split of a model along a pipeline: its stages and the hops between them. A rank of the pipeline
// may have several stages; without a split, one rank has all.
struct Split : model::StageGraph {
  explicit Split(const experiment::Resolved& experiment);

  std::vector<int> owners;  // by segment: rank of the pipeline
  std::vector<Hop> hops;
  std::vector<std::pair<int, int>> ways;  // from one rank of the pipeline to another

  std::vector<int> ranks() const;  // ranks by stage
  int stage_of(int segment) const { return paths[static_cast<std::size_t>(segment)].front(); }
  // true if the value (an output, or sample data) crosses between ranks
  bool is_sample_data(int value) const;

 private:
  void add_hop(const model::Crossing& crossing);
};

}  // namespace trainyard::strategy
