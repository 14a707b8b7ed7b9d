// SPDX-License-Identifier: GPL-3.0-or-later
// Static checks of a plan before it runs. Collectives may be single ops, or expanded to sends and
// receives of chunks. The checker rehearses (executes symbolically) a few consecutive executions of
// the programs, called instances, in the order of the schedule. So it also checks dependencies on
// earlier steps. The programs of all ranks must be in memory.
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
  // numbers are in range, accesses are inside their buffers, dependencies can be reached, and each
  // op is on a lane of the right kind
  structure,
  order,     // all members of a group start its buckets in the same order
  deadlock,  // the plan terminates even if no send is buffered
  matching,  // a send and its matching receive have the same bucket, round, chunk and bytes
  // data races: two overlapping accesses to a buffer are ordered, or both only read; a send reads
  // its span until the send completes
  races,
  casting,  // parameters are cast to another dtype: readers read the cast of the current parameters
  // reduced sums: updates read the sum over all members, with each member once and in the same
  // order on all ranks
  meaning,
  // gossip: every parameter becomes a weighted sum of the ranks' values before the step; the
  // weights form a symmetric, doubly stochastic matrix
  mixing,
  // local SGD: every parameter becomes the mean over all ranks, or moves toward a center that moves
  // toward the mean
  averaging,
  // asynchronous gossip: each pair is an active and a passive rank that average with weights one
  // half; the passive rank waits for no other rank
  gossip_pairs,
  // layers on different ranks: each layer reads the output of the previous layer for the same
  // micro-batch, and its full gradient
  passing,
  // sharded parameters: passes read parameters that the step's update has not changed yet; every
  // shard is updated once, with the gradient of all ranks
  sharding,
  // activation checkpointing: recomputation reads the same values as the forward pass, so its
  // output is identical, and the backward pass reads that output
  recomputing,
  // updates after every micro-batch: a backward pass uses the weight version of its forward pass,
  // and updates are in order
  versions,
  offloading,  // a fetch restores what was offloaded, before the next op reads it
  // parameter servers: every parameter is on one server, worker and server agree on each transfer,
  // and the arrival rule cannot deadlock
  serving,
};
std::string_view name(Proof proof);

struct Finding {
  Proof proof = Proof::structure;
  // `where` of the problem names rank, program and op; `what` begins with the name of the check
  base::Problem problem;
  std::string program;             // empty if the finding concerns the full plan or rank
  std::optional<plan::Mark> mark;  // op that the finding concerns, if there is one
};

// Traffic from one rank to one peer in one execution of a program.
struct Sent {
  std::int32_t from = 0, to = 0;
  // payload; an upper bound if only some rows of a table are sent
  std::int64_t bytes = 0, messages = 0;
  bool operator==(const Sent&) const = default;
};

struct ProgramTraffic {
  std::string program;
  std::vector<Sent> sent;   // by sender, then receiver; without collectives that are single ops
  std::int32_t rounds = 0;  // number of rounds with sends, for the bucket that has the most
  std::int64_t bytes_from(std::int32_t rank) const;
};

// Memory of a rank in bytes. The first three are on its device.
struct Memory {
  std::int64_t buffers = 0;  // sum over all buffers
  std::int64_t shared = 0;   // part of `buffers` that peers read
  // largest number of bytes that are live at the same time, which is a lower bound for any memory
  // layout
  std::int64_t peak = 0;
  std::int64_t host = 0, disk = 0;  // offloaded to host memory, and to disk
};

struct Report {
  // names of the checks that apply to this plan
  std::vector<Proof> proofs;
  // findings of failed checks; empty if all checks passed. If a check fails, the checks that depend
  // on it are skipped
  std::vector<Finding> findings;
  // one entry per program, in the program order of rank 0; traffic and `memory` are empty if the
  // plan's structure is invalid
  std::vector<ProgramTraffic> traffic;
  std::vector<Memory> memory;  // memory by rank
  // grid of ranks and time, as text, in which the op of the first finding is marked; empty if the
  // first finding has no op
  std::string grid;
  base::Problems problems() const;
};

Report examine(const plan::Plan& plan);

// Returns only the problems. The first problem that has an op shows the grid at the end of its
// advice.
base::Problems check(const plan::Plan& plan);

}  // namespace trainyard::check
