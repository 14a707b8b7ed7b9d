// SPDX-License-Identifier: GPL-3.0-or-later
// Who is where in a mesh of data x pipeline x tensor ranks (Narayanan et al. 2021, "Efficient
// Large-Scale Language Model Training on GPU Clusters"): replicas take different samples; the ranks
// of a replica take the same, each stage some layers, and each part of a stage some rows or columns
// of these. All strategies have one: of n workers tensor_parallel is 1 x 1 x n, model_parallel and
// pipeline 1 x n x 1, and whoever splits no model n x 1 x 1. In rpc n trainers are replicas of the
// first stage, and each parameter server is a later one, which all of them call.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/cells.h"
#include "core/experiment/resolve.h"

namespace trainyard::experiment {

struct MeshPlace {
  int replica = 0, stage = 0, part = 0;
  bool operator==(const MeshPlace&) const = default;
};

// Ranks are counted by part first, then by replica, last by stage: the two all-reduces of every
// layer stay among neighbours, that of gradients crosses further, and furthest go outputs from
// stage to stage, which are least of all (Narayanan et al. 2021, 3.3; the order of Megatron-LM).
struct Mesh {
  int data = 1, pipeline = 1, tensor = 1;
  bool calls =
      false;  // replicas have a first stage each, and call the others, which are there once

  int replicas(int stage) const { return calls && stage > 0 ? 1 : data; }
  int ranks() const { return first_of(pipeline) * tensor; }
  // Whether the norm of a gradient is that of all ranks' parts: none has the whole.
  bool sums_norms(bool shards_data) const {
    return pipeline > 1 || tensor > 1 || (shards_data && data > 1);
  }
  int rank_of(const MeshPlace& place) const {
    return (first_of(place.stage) + place.replica % replicas(place.stage)) * tensor + place.part;
  }
  MeshPlace place_of(int rank) const;
  Callers callers(const MeshPlace& place) const;
  bool is_called(const MeshPlace& place) const {
    return calls && place.stage > 0;
  }  // and has no samples of its own
  bool operator==(const Mesh&) const = default;

  // Groups that differ in one thing, by rank: of replicas that have the same of the model, and of
  // parts that share layers.
  std::vector<int> replicas_like(int rank) const;
  std::vector<int> parts_with(int rank) const;
  std::vector<int> stage(int number) const;  // all its ranks

 private:
  int first_of(int stage) const {
    return calls ? (stage > 0 ? data + stage - 1 : 0) : stage * data;
  }  // without parts
};

// As drawn; of a hybrid that cannot be, what is nearest.
Mesh mesh_of(const Experiment& experiment);
Mesh mesh_of(const Resolved& resolved);

// Which of the shares that a step is dealt out in (Resolved::shares) a rank takes: its own, or that
// of its replica. One that is called takes none: -1.
int share_of(const Resolved& resolved, int rank);

// The groups of ranks that sum by strategy.algorithm, as far as a document says, whose mesh can be:
// parts that share layers, replicas of the same layers, of a stage all that shard it, those who
// have a table that layers of two stages share, and everybody where norms are judged that no rank
// has whole. One group may be there twice.
std::vector<std::vector<int>> summing_groups(const Experiment& experiment);

// "2 x 2 x 2: 2 replicas of 2 stages, in each of which 2 devices share the layers". Nothing of
// other strategies than hybrid.
std::optional<std::string> mesh_said(const Resolved& resolved);

// A mesh that does not cover the workers, parts of a stage on several hosts; none of other
// strategies.
base::Problems mesh_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
