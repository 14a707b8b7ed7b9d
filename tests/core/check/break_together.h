// SPDX-License-Identifier: GPL-3.0-or-later
// Ways to break what ranks do together, each at a random place; false where a plan has no place for
// it. Call inside a property.
#pragma once

#include <optional>

#include "tests/core/check/any_sound_plan.h"

namespace trainyard::check {

inline std::size_t any_rank(const Victim& victim) {
  return static_cast<std::size_t>(plan::any_count(static_cast<int>(victim.ranks.size()) - 1));
}

struct OpLocation {
  std::size_t rank = 0, op = 0;
};
std::optional<OpLocation> any_location(
    Victim& victim, const std::function<bool(std::size_t rank, const plan::Op&)>& fits);
inline std::optional<OpLocation> any_location(Victim& victim, const OpTest& fits) {
  return any_location(victim, [&](std::size_t, const plan::Op& op) { return fits(op); });
}
inline plan::Op& op_at(Victim& victim, const OpLocation& place) {
  return victim.train(place.rank)[place.op];
}

// Messages without a match
// -------------------------------------------------------------------------------------------

bool swapped_sends(Victim& victim);

bool send_to_the_wrong_peer(Victim& victim);

bool missing_receive(Victim& victim);

bool repeated_addition(Victim& victim);

bool truncated_chunk(Victim& victim);

// Wrong sums
// ------------------------------------------------------------

bool repeated_contribution(Victim& victim);

bool overwritten_sum(Victim& victim);

bool shifted_chunk(Victim& victim);

bool update_from_an_element_that_is_not_summed(Victim& victim);

// Inconsistent groups
// --------------------------------------------------------------------------------------------

inline bool is_all_reduce(const plan::Op& op) { return op.kind == plan::OpKind::all_reduce; }

bool bucket_that_is_not_reduced(Victim& victim);

bool missing_member(Victim& victim);

bool reordered_buckets(Victim& victim);

}  // namespace trainyard::check
