// SPDX-License-Identifier: GPL-3.0-or-later
// What crosses between the stages of a model that is split, and by which groups.
#pragma once

#include <vector>

#include "core/experiment/resolve.h"
#include "core/model/part.h"
#include "core/plan/plan.h"

namespace trainyard::strategy {

// An output of a segment on its way to a later stage, or the gradient at it on its way back, from rank to rank. All that goes from one stage to another has a
// group of its own, of two; in a step its bucket of micro-batch m is m * (values of the group) + number.
struct Hop {
  int value = 0;  // the segment
  int from = 0, to = 0;
  std::int32_t group = 0, number = 0, values = 1;
  bool forward() const { return from < to; }
};

// How a model is split among ranks: stages by their order, of every output the stages that it passes (model::paths_of), and its hops.
struct Split {
  explicit Split(const experiment::Resolved& experiment);

  std::vector<int> owners;  // by segment, the rank
  std::vector<model::Stage> stages;
  std::vector<std::vector<int>> paths;
  std::vector<Hop> hops;
  std::vector<plan::Group> groups;

  int rank_of(int stage) const { return stages[static_cast<std::size_t>(stage)].rank; }
  std::vector<int> ranks() const;  // by stage
  int stage_of(int segment) const { return paths[static_cast<std::size_t>(segment)].front(); }
  bool passes(int value, int rank) const;  // makes the output, or computes by it

 private:
  void add_hop(int value, int from, int to);
};

}  // namespace trainyard::strategy
