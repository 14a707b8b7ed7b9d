// SPDX-License-Identifier: GPL-3.0-or-later
// Mesh of data x pipeline x tensor ranks (Narayanan et al. 2021, "Efficient Large-Scale Language
// Model Training on GPU Clusters"). Replicas take different samples. The ranks of a replica take
// the same samples: each stage has some layers, and each part of a stage some rows or columns of
// these. Every strategy has a mesh. With n workers: tensor_parallel is 1 x 1 x n, model_parallel
// and pipeline are 1 x n x 1, and strategies that do not split the model are n x 1 x 1. In rpc, n
// trainers are replicas of the first stage, and each parameter server is a later stage that all of
// them call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/cells.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

struct MeshCoordinates {
  int replica = 0, stage = 0, part = 0;
  bool operator==(const MeshCoordinates&) const = default;
};

// Ranks are numbered by part first, then by replica, last by stage. So the two all-reduces of every
// layer are between neighbors, all-reduces of gradients reach further, and activations between
// stages, which have the least traffic, reach furthest (Narayanan et al. 2021, 3.3; the order of
// Megatron-LM).
struct Mesh {
  int data = 1, pipeline = 1, tensor = 1;
  // rpc: each replica has its own first stage, and calls the other stages, which exist once.
  bool calls = false;

  int replicas(int stage) const { return calls && stage > 0 ? 1 : data; }
  int ranks() const { return first_of(pipeline) * tensor; }
  // True if the norm of a gradient must be summed over ranks, because no rank has the full
  // gradient.
  bool sums_norms(bool shards_data) const {
    return pipeline > 1 || tensor > 1 || (shards_data && data > 1);
  }
  int rank_of(const MeshCoordinates& place) const {
    return (first_of(place.stage) + place.replica % replicas(place.stage)) * tensor + place.part;
  }
  MeshCoordinates place_of(int rank) const;
  CallerSet callers(const MeshCoordinates& place) const;
  bool is_called(const MeshCoordinates& place) const {
    return calls && place.stage > 0;
  }  // Such a rank has no samples.
  bool operator==(const Mesh&) const = default;

  // Ranks that differ in one coordinate, in ascending order: replicas with the same part of the
  // model, and parts that share layers.
  std::vector<int> replicas_of(int rank) const;
  std::vector<int> tensor_group(int rank) const;
  std::vector<int> stage(int number) const;  // All ranks of a stage.

 private:
  int first_of(int stage) const {
    return calls ? (stage > 0 ? data + stage - 1 : 0) : stage * data;
  }  // Index without parts.
};

// Mesh of the drawing; for an invalid hybrid the nearest valid one.
Mesh mesh_of(const Experiment& experiment);
Mesh mesh_of(const Resolved& resolved);

// Returns which share of a step's samples (`Resolved::shares`) a rank takes: its own or that of its
// replica. -1 for a rank that is called.
int share_of(const Resolved& resolved, int rank);

// Returns the groups of ranks that sum with strategy.algorithm, from the document alone; its mesh
// must be valid. They are: parts that share layers, replicas of the same layers, all ranks of a
// stage that is sharded, ranks that hold a table shared by layers of two stages, and all ranks if
// norms must be summed. A group may occur twice.
std::vector<std::vector<int>> summing_groups(const Experiment& experiment);

// "2 x 2 x 2: 2 replicas of 2 stages, in each of which 2 devices share the layers". Nothing for
// strategies other than hybrid.
std::optional<std::string> mesh_line(const Resolved& resolved);

// Returns problems such as a mesh that does not cover the workers, or parts of a stage on several
// hosts; none for other strategies.
base::Problems mesh_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
