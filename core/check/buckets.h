// SPDX-License-Identifier: GPL-3.0-or-later
// Buckets of one program: the location of each bucket on the ranks of its group, divided into
// cells. meaning.cpp stores a symbolic value in each cell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check/proofs.h"

namespace trainyard::check {

// A bucket, as held by all ranks of its group. Its elements are divided into cells, so that every
// op accesses either all elements of a cell or none.
struct Bucket {
  std::int32_t group = 0, number = 0;
  plan::OpKind wanted = plan::OpKind::all_reduce;  // collective that the bucket is for
  std::int32_t root = -1;
  std::int64_t row = 1;  // elements of a row, which no member's chunk splits
  // true if the bucket sums parameters; each member multiplies its parameters by its weight
  bool is_weighted = false;
  struct Home {  // Location of the bucket on one rank.
    plan::BufferId buffer;
    std::int64_t first = 0, end = 0;
    std::vector<int> cells;  // symbolic value (expression number) of each cell

    std::int64_t length() const { return end - first; }
    // returns the offset of `element` from the bucket's start, clamped to the bucket's range
    std::int64_t offset(std::int64_t element) const;
  };
  std::map<std::int32_t, Home> homes;  // locations by rank
  std::vector<std::int64_t> cuts;      // cell boundaries, in elements from the bucket's start

  std::size_t cell(std::int64_t offset) const;  // index of the cell that starts at `offset`
  std::pair<std::int64_t, std::int64_t> chunk(std::size_t members, std::size_t position)
      const;  // {first, count} of the member at `position`; the bucket must have members
  // Returns the chunk of the member at `position`, if only the first `length` elements of the
  // bucket are divided into chunks
  std::pair<std::int64_t, std::int64_t> chunk(std::int64_t length, std::size_t members,
                                              std::size_t position) const;
  Home* home_in(std::int32_t rank,
                plan::BufferId buffer);  // null if the rank does not hold the bucket in `buffer`
};
// Buckets of a program; the key is {group, bucket number}
using Buckets = std::map<std::pair<std::int32_t, std::int32_t>, Bucket>;

const plan::Access& span_of(
    // Returns the span of a communicating op: the part of its bucket that it sends, sums or
    // changes.
    const plan::Op& op);

// `mixes`: true if ranks mix parameters with neighbors in the program. `is_mixing_transfer`: true
// if the op sends or receives parameters for mixing. Such transfers belong to no bucket; mixing.cpp
// checks them.
bool mixes(const plan::Program& program);
bool is_mixing_transfer(const plan::Program& program, const plan::Op& op);
// Returns the kind of collective that the op executes or, for an expanded collective, belongs to.
plan::OpKind collective_of(const plan::Program& program, const plan::Op& op);
inline bool is_of_broadcast(const plan::Program& program, const plan::Op& op) {
  return collective_of(program, op) == plan::OpKind::broadcast;
}
// Kinds of collectives that meaning.cpp does not track as buckets, because other files check them.
// If ranks have different layers, broadcasts pass activations and gradients between ranks and reuse
// the same buffers (passing.cpp). If parameters are sharded, gathered and scattered values are
// temporary (sharding.cpp).
struct OtherProofs {
  bool broadcasts = false, shards = false;
  bool proves(const plan::RankPlan& rank, plan::OpKind collective,
              const plan::Access& span) const;  // `span`: span of the op on this rank
};
OtherProofs elsewhere(const Scope& scope, const std::string& program);

bool reduces(plan::OpKind kind);  // true if the kind sums; other kinds only copy

// the cells of the returned buckets have no values yet
Buckets buckets_of(const Scope& scope, const std::string& program);

// Part of an access that lies in a bucket, as a range of cells.
struct Overlap {
  Bucket* bucket;
  Bucket::Home* home;
  std::size_t first, last;  // first and last cell of the part
};
std::vector<Overlap> overlaps(Buckets& buckets, std::int32_t rank, const plan::Access& access);

// Reason why a program cannot compute the sums of its buckets. `first_flaw` requires that every
// member of a group has the group's buckets, with equal lengths. In a program that updates
// parameters, every group of several ranks must also have a bucket.
struct Flaw {
  std::int32_t rank;
  std::string what;
};
std::optional<Flaw> first_flaw(const Scope& scope, const std::string& program,
                               const Buckets& buckets);

}  // namespace trainyard::check
