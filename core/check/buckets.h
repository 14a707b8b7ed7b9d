// SPDX-License-Identifier: GPL-3.0-or-later
// The buckets of one program: where each lies on the ranks of its group, cut into cells that the
// proof of the meaning fills.
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

// A bucket on all members of its group, cut where any op of any member starts or ends: within a
// cell all is alike.
struct Bucket {
  std::int32_t group = 0, number = 0;
  plan::OpKind wanted = plan::OpKind::all_reduce;  // the collective
  std::int32_t root = -1;
  std::int64_t row = 1;  // elements that no member's chunk cuts
  bool weighed = false;  // what is summed are parameters, each member's times its weight
  struct Home {          // on one rank
    plan::BufferId buffer;
    std::int64_t first = 0, end = 0;
    std::vector<int> cells;  // expressions

    std::int64_t length() const { return end - first; }
    std::int64_t offset(std::int64_t element) const;  // from the bucket's start, clamped to it
  };
  std::map<std::int32_t, Home> homes;  // by rank
  std::vector<std::int64_t> cuts;      // elements from the bucket's start

  std::size_t cell(std::int64_t offset) const;  // the one that starts there
  std::pair<std::int64_t, std::int64_t> chunk(std::size_t members, std::size_t position)
      const;  // that of a member, of a bucket in use: {first, count}
  std::pair<std::int64_t, std::int64_t> chunk(std::int64_t length, std::size_t members,
                                              std::size_t position) const;  // of so much of it
  Home* home_in(std::int32_t rank,
                plan::BufferId buffer);  // null: the rank has none, or in another buffer
};
using Buckets = std::map<std::pair<std::int32_t, std::int32_t>, Bucket>;  // by group and number

const plan::Access& span_of(
    const plan::Op& op);  // of one that communicates: what it sends, sums or changes of its bucket

// Whether ranks mix parameters in a program, and whether an op sends or receives what neighbours
// exchange for that: these are no buckets of a group, and mixing.cpp proves them.
bool mixes(const plan::Program& program);
bool is_of_neighbours(const plan::Program& program, const plan::Op& op);
// The collective that an op is, or is a part of.
plan::OpKind collective_of(const plan::Program& program, const plan::Op& op);
inline bool is_of_broadcast(const plan::Program& program, const plan::Op& op) {
  return collective_of(program, op) == plan::OpKind::broadcast;
}
// Collectives that are no buckets, as others prove them. Where layers are on several ranks,
// broadcasts hand on what one micro-batch made, in one place after the other (passing.cpp); where
// ranks keep but a part of the parameters, what is gathered and scattered comes and goes
// (sharding.cpp).
struct Elsewhere {
  bool broadcasts = false, shards = false;
  bool proves(const plan::RankPlan& rank, plan::OpKind collective,
              const plan::Access& span) const;  // of what the rank has in a span
};
Elsewhere elsewhere(const Scope& scope, const std::string& program);

bool reduces(plan::OpKind kind);  // adds up, where others only hand on

Buckets buckets_of(const Scope& scope, const std::string& program);  // cells are yet to be filled

// The part of an access that is in a bucket.
struct Overlap {
  Bucket* bucket;
  Bucket::Home* home;
  std::size_t first, last;  // cells
};
std::vector<Overlap> overlaps(Buckets& buckets, std::int32_t rank, const plan::Access& access);

// Why no sum can come of them; nothing: every member of a group has its buckets, in one length, and
// where parameters are updated, every group of a rank that has others in it has its part.
struct Flaw {
  std::int32_t rank;
  std::string what;
};
std::optional<Flaw> first_flaw(const Scope& scope, const std::string& program,
                               const Buckets& buckets);

}  // namespace trainyard::check
