// SPDX-License-Identifier: GPL-3.0-or-later
// Path of samples through a partitioned model (local_model.h), and the values sent between its
// stages.
#pragma once

#include <vector>

#include "core/model/local_model.h"

namespace trainyard::model {

// Special values in place of a segment: the samples, and their indices in the data set. Both are
// sent to ranks that do not load samples. Only dropout needs the indices, so they are sent only in
// training.
inline constexpr int kSamples = -1, kSampleNumbers = -2;

// Transfer between two stages on different ranks. The value is the output of a segment, its
// gradient (sent in the opposite direction), or samples. An output is sent to each rank only once.
struct Crossing {
  int value = 0;         // Segment, kSamples or kSampleNumbers.
  int from = 0, to = 0;  // Indices of the stages.
  bool forward() const { return from < to; }
};

// Remote calls: only rank 0 has samples and computes the loss, and it calls the layers of the other
// ranks. The value tells how the output of a called rank reaches another called rank.
enum class RemoteCalls {
  // Pipelines: no remote calls. Ranks that need samples have them, and the rank of the last layer
  // computes the loss.
  none,
  // Through rank 0: a called rank returns its output to rank 0, which sends it to the next rank.
  by_value,
  by_reference,  // Directly to the rank that needs it.
};

// Stages in the order in which samples pass them. With remote calls, the first and the last stage
// are on rank 0. With `by_value`, rank 0 also has a stage between any two stages of other ranks.
// Some stages of rank 0 have no segment.
struct StageGraph {
  StageGraph(const Model& model, const std::vector<int>& owners, RemoteCalls calls);

  std::vector<Stage> stages;
  // For each segment: the stages that its output passes, as in `model::paths_of`, and the stages
  // that forward it.
  std::vector<std::vector<int>> paths;
  std::vector<Crossing> crossings;  // All forward transfers, then all backward ones.

  int rank_of(int stage) const { return stages[static_cast<std::size_t>(stage)].rank; }
  // Index of the stage that computes the loss.
  int last() const { return static_cast<int>(stages.size()) - 1; }
};

}  // namespace trainyard::model
