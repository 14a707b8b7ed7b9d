// SPDX-License-Identifier: GPL-3.0-or-later
// Changes to the plan of a rank: how a strategy that does nearly what another does is told from it.
#pragma once

#include <functional>
#include <string_view>

#include "core/plan/plan.h"

namespace trainyard::strategy {

// Takes out the ops that `drops` names; dependencies then count what is left of each lane. Of an
// instance before it is taken that it ran the same program: what counts ops of another is to be set
// again (order_loads).
void drop_ops(plan::Program& program, const std::function<bool(const plan::Op&)>& drops);

// Takes out the buffers that no op touches.
void drop_unused_buffers(plan::RankPlan& rank);

plan::LaneId add_comm_lane(plan::RankPlan& rank, std::int32_t group);
plan::LaneId lane_of(const plan::RankPlan& rank,
                     std::int32_t group);  // its comm lane of the group; invalid without one

plan::Access add_buffer(plan::RankPlan& rank, std::string name, base::DType dtype,
                        std::int64_t elements, bool shared = false);  // all of it

// All of a buffer.
plan::Access whole(const plan::RankPlan& rank, std::string_view buffer);

// A collective of the same elements on every member; with a root.
plan::Op collective_op(plan::OpKind kind, plan::LaneId lane, std::int32_t group,
                       std::int32_t bucket, const plan::Access& span);
plan::Op rooted(plan::OpKind kind, plan::LaneId lane, std::int32_t group, std::int32_t bucket,
                std::int32_t root, const plan::Access& span);

}  // namespace trainyard::strategy
