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

struct Place {
  std::size_t rank = 0, op = 0;
};
std::optional<Place> any_place(Victim& victim,
                               const std::function<bool(std::size_t rank, const plan::Op&)>& fits);
inline std::optional<Place> any_place(Victim& victim, const OpTest& fits) {
  return any_place(victim, [&](std::size_t, const plan::Op& op) { return fits(op); });
}
inline plan::Op& op_at(Victim& victim, const Place& place) {
  return victim.train(place.rank)[place.op];
}

// Messages that do not meet
// -------------------------------------------------------------------------------------------

bool two_sends_swapped(Victim& victim);

bool a_send_to_the_wrong_peer(Victim& victim);

bool a_receive_that_is_missing(Victim& victim);

bool an_addition_done_twice(Victim& victim);

bool a_chunk_cut_short_at_one_end(Victim& victim);

// Sums that are none
// ------------------------------------------------------------

bool a_contribution_sent_and_added_twice(Victim& victim);

bool a_sum_replaced_instead_of_added(Victim& victim);

bool a_chunk_received_one_element_off(Victim& victim);

bool an_update_from_an_element_that_nobody_sums(Victim& victim);

// Groups that do not agree
// --------------------------------------------------------------------------------------------

inline bool is_all_reduce(const plan::Op& op) { return op.kind == plan::OpKind::all_reduce; }

bool a_bucket_that_nobody_sums(Victim& victim);

bool a_member_that_takes_no_part(Victim& victim);

bool buckets_in_another_order_on_one_rank(Victim& victim);

}  // namespace trainyard::check
