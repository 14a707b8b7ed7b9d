// SPDX-License-Identifier: GPL-3.0-or-later
// Membership of a rank in a group, and its comm lane of the group.
#pragma once

#include "core/strategy/edit.h"

namespace trainyard::strategy {

// Group and comm lane of a rank; both are invalid if the rank is in no group of this kind.
struct Line {
  plan::LaneId lane;
  std::int32_t group = -1;
};
inline Line add_line(plan::RankPlan& rank, std::int32_t group) {
  return group < 0 ? Line{} : Line{add_comm_lane(rank, group), group};
}

inline plan::Op collective_op(plan::OpKind kind, const Line& line, std::int32_t bucket,
                              const plan::Access& span) {
  return collective_op(kind, line.lane, line.group, bucket, span);
}

}  // namespace trainyard::strategy
