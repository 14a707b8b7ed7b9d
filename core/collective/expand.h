// SPDX-License-Identifier: GPL-3.0-or-later
// From the coarse plan to the chunk program: every all-reduce op becomes the sends and receives of its algorithm, on a send
// lane and a receive lane of its group. Dependencies follow from the data: an op comes after those that touched its
// elements, where one of them writes. What only reads the reduced bucket waits for the receives; what writes it waits for
// the sends too, since peers read it in place.
#pragma once

#include "core/collective/algorithm.h"
#include "core/plan/plan.h"

namespace trainyard::collective {

plan::RankPlan expand(const plan::RankPlan& coarse, const std::vector<plan::Group>& groups, Algorithm algorithm);
plan::Plan expand(const plan::Plan& coarse, Algorithm algorithm);

// Payload bytes that `rank` sends in one run of `program` of an expanded plan.
std::int64_t sent_bytes(const plan::RankPlan& expanded, const plan::Program& program);

}  // namespace trainyard::collective
