// SPDX-License-Identifier: GPL-3.0-or-later
// Static checks of a plan before it runs, expanded to chunks or coarse. The checker rehearses a few
// consecutive instances of the programs, in the order of the schedule, so that dependencies on
// earlier steps are checked too. The programs of all ranks must be in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/plan/text.h"

namespace trainyard::check {

enum class Proof {
  // numbers in range, accesses inside their buffers, reachable dependencies, op kinds on suitable
  // lanes
  structure,
  order,     // members use their groups, and the buckets in them, in one order
  deadlock,  // the plan terminates with zero capacity
  matching,  // a send and its matching receive have the same bucket, round, chunk and bytes
  // no two unordered overlapping accesses to a buffer, unless both read; a peer reads until a send
  // completes
  races,
  casting,  // parameters cast to another dtype: readers read the cast of the current parameters
  // updates read the sum over all members, each once, added in the same order on all ranks
  meaning,
  // gossip: every parameter becomes the weighted sum, by one symmetric, doubly stochastic matrix,
  // of the ranks' values before the step
  mixing,
  // local steps: every parameter becomes the mean over all ranks, or moves toward a center, which
  // moves toward the mean
  averaging,
  // pairwise averaging: each pair joins an active and a passive rank with weights one half; the
  // passive rank waits for no other
  pairing,
  // layers split over ranks: each layer reads the output of the one before for the same
  // micro-batch, and its full gradient
  passing,
  // sharded parameters: passes read all of them in their old state; every shard is updated once,
  // with the gradient of all ranks
  sharding,
  // activation checkpointing: a recomputed output has the inputs of its forward pass, so it is
  // identical; the backward pass reads it
  recomputing,
  // updates after every micro-batch: a backward pass uses the parameters of its forward pass, and
  // updates are in order
  versions,
  swapping,  // offloading: a fetch restores what was offloaded, before the next read
  // workers and servers: every parameter is on one server, both ends agree, and the arrival rule
  // cannot deadlock
  serving,
};
std::string_view name(Proof proof);

struct Finding {
  Proof proof = Proof::structure;
  base::Problem problem;  // `where`: rank, program, op; `what` begins with the name of the proof
  std::string program;    // empty if it concerns the full plan or rank
  std::optional<plan::Mark> mark;  // the op, if there is one
};

// Traffic from one rank to one peer in one run of a program.
struct Sent {
  std::int32_t from = 0, to = 0;
  std::int64_t bytes = 0, messages = 0;  // payload; upper bound if only named table rows travel
  bool operator==(const Sent&) const = default;
};

struct ProgramTraffic {
  std::string program;
  std::vector<Sent> sent;   // by from, then to; coarse ops are not included
  std::int32_t rounds = 0;  // rounds with sends, of the bucket with the most
  std::int64_t bytes_from(std::int32_t rank) const;
};

// Memory of a rank, in bytes; the first three on its device.
struct Memory {
  std::int64_t buffers = 0;         // sum over all buffers
  std::int64_t shared = 0;          // part of `buffers` that peers read
  std::int64_t peak = 0;            // live at the same time: a lower bound for any layout
  std::int64_t host = 0, disk = 0;  // offloaded
};

struct Report {
  // proofs that apply to this plan: structure and serving if it has servers, else the others;
  // mixing only if ranks mix
  std::vector<Proof> proofs;
  std::vector<Finding> findings;  // empty if proved; a failed proof stops those that depend on it
  // by program, in the order of rank 0; empty if the structure is invalid (also `memory`)
  std::vector<ProgramTraffic> traffic;
  std::vector<Memory> memory;  // by rank
  std::string grid;  // rank x time grid with the op of the first finding marked; empty without one
  base::Problems problems() const;
};

Report examine(const plan::Plan& plan);

// Returns only the problems. The advice of the first problem that has an op ends with the grid.
base::Problems check(const plan::Plan& plan);

}  // namespace trainyard::check
