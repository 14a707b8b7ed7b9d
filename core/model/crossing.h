// SPDX-License-Identifier: GPL-3.0-or-later
// The way of samples through a model in parts (part.h), and what crosses from part to part on it.
#pragma once

#include <vector>

#include "core/model/part.h"

namespace trainyard::model {

// In the place of a segment: what samples bring, where ranks that have none are sent it. The
// numbers of samples are for dropout, so in training alone.
inline constexpr int kSamples = -1, kSampleNumbers = -2;

// An output of a segment that goes to a stage on another rank, or the gradient at it that comes
// back; or what samples bring. To each rank an output goes once.
struct Crossing {
  int value = 0;         // the segment
  int from = 0, to = 0;  // stages
  bool forward() const { return from < to; }
};

// Whether rank 0, which alone has samples and knows the loss, calls the layers of all others; and
// where an output goes that another of these computes by.
enum class Calls {
  none,          // whoever looks at samples has them, and the loss is where the last layer is
  by_value,      // back to rank 0, which sends it on
  by_reference,  // to whom it is for
};

// Stages in the order of samples. Where rank 0 calls, it has the first and the last, and by value
// one between any two of others: some of these have no segment.
struct Course {
  Course(const Model& model, const std::vector<int>& owners, Calls calls);

  std::vector<Stage> stages;
  std::vector<std::vector<int>>
      paths;  // by segment: of its output, as model::paths_of; and where it is on its way
  std::vector<Crossing> crossings;  // all forward, then all back

  int rank_of(int stage) const { return stages[static_cast<std::size_t>(stage)].rank; }
  int last() const { return static_cast<int>(stages.size()) - 1; }  // that of the loss
};

}  // namespace trainyard::model
