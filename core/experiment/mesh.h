// SPDX-License-Identifier: GPL-3.0-or-later
// Mesh of data x pipeline x tensor ranks (Narayanan et al. 2021, "Efficient Large-Scale Language
// Model Training on GPU Clusters"). Replicas take different samples; all ranks of a replica take
// the same samples. Each stage of a replica has some layers, and each part of a stage has some rows
// or columns of these layers. Every strategy has a mesh. With n workers: tensor_parallel is 1 x 1 x
// n, model_parallel and pipeline are 1 x n x 1, and strategies that do not split the model are n x
// 1 x 1. In rpc, n trainers are replicas of the first stage, and each parameter server is a later
// stage that all trainers call.
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

// Shape of the mesh, and the order of its ranks: the part of a stage (tensor parallelism) varies
// fastest, then the replica, then the stage. So ranks that all-reduce within layers are neighbors,
// ranks that all-reduce gradients are further apart, and stages, which have the least traffic, are
// furthest apart (Narayanan et al. 2021, 3.3; the order of Megatron-LM).
struct Mesh {
  int data = 1, pipeline = 1, tensor = 1;
  // True for rpc: each replica has its own first stage, and all replicas call the later stages,
  // each of which exists only once.
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
  }  // A called rank has no samples.
  bool operator==(const Mesh&) const = default;

  // Both return groups of ranks that include `rank`, in ascending order. `replicas_of`: the ranks
  // with the same part of the model in all replicas. `tensor_group`: the ranks that split the same
  // layers.
  std::vector<int> replicas_of(int rank) const;
  std::vector<int> tensor_group(int rank) const;
  std::vector<int> stage(int number) const;  // All ranks of a stage.

 private:
  int first_of(int stage) const {
    return calls ? (stage > 0 ? data + stage - 1 : 0) : stage * data;
  }  // Index of the stage's first rank in a mesh without tensor parallelism.
};

// Returns the mesh of the drawing. For an invalid hybrid it is the nearest valid mesh.
Mesh mesh_of(const Experiment& experiment);
Mesh mesh_of(const Resolved& resolved);

// Returns the rank of the chief's replica that has the same pipeline and tensor position as `rank`.
int peer_in_chief_replica(const Resolved& resolved, int rank);

// Returns which samples a rank takes, as an index for `Resolved::shares`: the rank itself, or the
// index of its replica if the model is split. -1 for a rank that is called remotely.
int share_of(const Resolved& resolved, int rank);

// Returns the groups of ranks that sum values with strategy.algorithm. Requires a valid mesh. The
// groups are: ranks that split layers, replicas of the same layers, all ranks of a sharded stage,
// and ranks that hold a table used by two stages. If gradient norms must be summed, a group of all
// ranks is added. A group may be listed twice.
std::vector<std::vector<int>> summing_groups(const Experiment& experiment);

// Returns a text such as "2 x 2 x 2: 2 replicas of 2 stages, in each of which 2 devices share the
// layers". The text is empty for strategies other than hybrid.
std::optional<std::string> mesh_line(const Resolved& resolved);

// Returns problems of a hybrid, such as a mesh that does not cover the workers, or a stage whose
// parts are on several hosts. Returns none for other strategies.
base::Problems mesh_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
