// SPDX-License-Identifier: GPL-3.0-or-later
// Edits a rank's plan, for strategies that derive it from another strategy's plan.
#pragma once

#include <functional>
#include <string_view>

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Removes the ops for which `drops` is true, and adjusts dependencies to the remaining ops of each
// lane. Assumes that the previous step ran the same program. Dependencies on ops of other programs
// become invalid; the caller must derive such dependencies again (order_loads).
void drop_ops(plan::Program& program, const std::function<bool(const plan::Op&)>& drops);

// Removes the buffers that no op accesses.
void drop_unused_buffers(plan::RankPlan& rank);

plan::LaneId add_comm_lane(plan::RankPlan& rank, std::int32_t group);
plan::LaneId lane_of(const plan::RankPlan& rank,
                     // returns the rank's comm lane of the group; invalid if there is none
                     std::int32_t group);

plan::Access add_buffer(plan::RankPlan& rank, std::string name, base::DType dtype,
                        // appends a buffer, and returns an access that covers all of it
                        std::int64_t elements, bool shared = false);

// Returns an access (a range of elements) that covers the full buffer.
plan::Access whole(const plan::RankPlan& rank, std::string_view buffer);

// These functions return a collective op on the same span on every member of the group. `rooted` is
// for collectives with a root.
plan::Op collective_op(plan::OpKind kind, plan::LaneId lane, std::int32_t group,
                       std::int32_t bucket, const plan::Access& span);
plan::Op rooted(plan::OpKind kind, plan::LaneId lane, std::int32_t group, std::int32_t bucket,
                std::int32_t root, const plan::Access& span);

}  // namespace trainyard::strategy
