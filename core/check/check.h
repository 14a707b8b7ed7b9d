// SPDX-License-Identifier: GPL-3.0-or-later
// Proves a plan before it runs, expanded to chunks or coarse. A few instances of its programs are
// rehearsed in a row, as the schedule orders them, so that what reaches into earlier steps is
// proved too. Needs the programs of all ranks in memory.
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
  structure,  // numbers in range, accesses inside their buffers, reachable dependencies, kinds on
              // lanes that fit
  order,      // members of groups use them, and the buckets in them, in one order
  deadlock,   // all comes to an end with zero capacity
  matching,   // a send and the receive it meets mean the same bucket, round, chunk, bytes
  races,  // no two unordered overlapping accesses to a buffer, unless both read; a peer reads until
          // a send completes
  casting,    // of parameters in another number format: who reads them reads what was made of those
              // that are there
  meaning,    // updates read the sum over all members, each once, added in the same order on all
              // ranks
  mixing,     // of neighbours: every parameter becomes the weighted sum that one symmetric, doubly
              // stochastic matrix says, of what ranks had before the step
  averaging,  // of ranks that meet now and then: every parameter becomes the mean of all, or moves
              // to a centre, and that to the mean
  pairing,    // of neighbours that average in pairs: each joins a rank that asks and one that
              // answers, which waits for nobody, half and half
  passing,    // of layers on several ranks: each computes by what those before it made of the same
              // micro-batch, and learns by the whole gradient of it
  sharding,   // of parameters in parts: passes compute by all of them as they were, every part is
              // updated once by the gradient of all ranks, and all are
  recomputing,  // of outputs that are made again: each from what its own forward pass had, and so
                // the same; and the backward pass finds it
  versions,     // of updates after every micro-batch: it goes back by the parameters that it went
                // forward by, and updates come in order
  swapping,     // of what is put aside: what comes back is what went, before anybody asks for it
  serving,  // of workers and servers: every parameter lies on one server, both ends agree, and the
            // rule lets everybody go on
};
std::string_view name(Proof proof);

struct Finding {
  Proof proof = Proof::structure;
  base::Problem problem;  // where: rank, program, op; what begins with the name of the proof
  std::string program;    // empty: of the whole plan or rank
  std::optional<plan::Mark> mark;  // the op, where there is one
};

// What one rank sends to one peer in one run of a program.
struct Sent {
  std::int32_t from = 0, to = 0;
  std::int64_t bytes = 0, messages = 0;  // payload; of rows of tables, as many as can be named
  bool operator==(const Sent&) const = default;
};

struct ProgramTraffic {
  std::string program;
  std::vector<Sent> sent;   // by from, then to; a coarse op sends nothing itself
  std::int32_t rounds = 0;  // in which anybody sends, of the bucket that has most
  std::int64_t bytes_from(std::int32_t rank) const;
};

// Memory of a rank, bytes; the first three on its device.
struct Memory {
  std::int64_t buffers = 0;         // all of them, side by side
  std::int64_t shared = 0;          // of these, what peers read
  std::int64_t peak = 0;            // live at once: a lower bound for any layout
  std::int64_t host = 0, disk = 0;  // put aside
};

struct Report {
  std::vector<Proof> proofs;  // that this plan asks for: of one with servers structure and serving,
                              // else the others, mixing where neighbours mix
  std::vector<Finding>
      findings;  // empty: proved. A proof that others build on stops them when it fails
  std::vector<ProgramTraffic>
      traffic;  // by program, in the order of rank 0. Empty when the structure is bad, as below
  std::vector<Memory> memory;  // by rank
  std::string grid;  // rank x time, the op of the first finding marked; empty where there is none
  base::Problems problems() const;
};

Report examine(const plan::Plan& plan);

// The problems alone; the advice of the first that has an op ends with the grid.
base::Problems check(const plan::Plan& plan);

}  // namespace trainyard::check
