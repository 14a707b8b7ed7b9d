// SPDX-License-Identifier: GPL-3.0-or-later
// Values that are transferred between the stages of a split model, and the ranks that send and
// receive them.
#pragma once

#include <utility>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/stage_transfer.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// Transfer of an output to a later stage, or of its gradient back. `way`: index of the directed
// connection from one rank of the pipeline to another. Each connection of each pipeline has a
// separate group of two ranks, which all transfers in this direction use. In a step, the transfer
// of micro-batch m has bucket m * `values` + `number`, where `values` is the number of values that
// use the connection.
struct Hop : model::Crossing {
  std::int32_t way = 0, number = 0, values = 1;
};

// Split of a model along a pipeline: its stages, and the transfers between them. A rank of the
// pipeline may have several stages. If the model is not split, one rank has all segments.
struct Split : model::StageGraph {
  explicit Split(const experiment::Resolved& experiment);

  std::vector<int> owners;  // rank in the pipeline, by segment
  std::vector<Hop> hops;
  // directed connections: (sending rank, receiving rank) in the pipeline
  std::vector<std::pair<int, int>> ways;

  std::vector<int> ranks() const;  // rank in the pipeline, by stage
  int stage_of(int segment) const { return paths[static_cast<std::size_t>(segment)].front(); }

 private:
  void add_hop(const model::Crossing& crossing);
};

}  // namespace trainyard::strategy
