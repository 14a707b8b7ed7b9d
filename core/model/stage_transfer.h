// SPDX-License-Identifier: GPL-3.0-or-later
// Path of samples through a partitioned model (local_model.h), and the values sent between its
// stages.
#pragma once

#include <vector>

#include "core/model/local_model.h"

namespace trainyard::model {

// Special values in place of a segment: samples, and sample numbers, which are sent to ranks that
// do not have them. Sample numbers are for dropout, so only in training.
inline constexpr int kSamples = -1, kSampleNumbers = -2;

// Output of a segment sent to a stage on another rank, or its gradient sent back; or samples. An
// output is sent to each rank once.
struct Crossing {
  int value = 0;         // Segment, kSamples or kSampleNumbers.
  int from = 0, to = 0;  // Stages.
  bool forward() const { return from < to; }
};

// Remote calls: rank 0, which alone has samples and computes the loss, calls the layers of all
// others. States how an output reaches another called rank.
enum class RemoteCalls {
  // No calls: ranks that need samples have them, and the loss is on the rank of the last layer.
  none,
  by_value,      // Back to rank 0, which sends it on.
  by_reference,  // Directly to the rank that needs it.
};

// Stages in the order of samples. With calls, rank 0 has the first and the last stage, and by value
// one between any two stages of other ranks. Some of its stages have no segment.
struct StageGraph {
  StageGraph(const Model& model, const std::vector<int>& owners, RemoteCalls calls);

  std::vector<Stage> stages;
  // By segment: stages that its output passes, as `model::paths_of`, plus relaying stages.
  std::vector<std::vector<int>> paths;
  std::vector<Crossing> crossings;  // All forward, then all backward.

  int rank_of(int stage) const { return stages[static_cast<std::size_t>(stage)].rank; }
  int last() const { return static_cast<int>(stages.size()) - 1; }  // Stage of the loss.
};

}  // namespace trainyard::model
