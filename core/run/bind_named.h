// SPDX-License-Identifier: GPL-3.0-or-later
// Ops that carry named rows of a table, from a plan to addresses.
#pragma once

#include <functional>

#include "core/run/bound_plan.h"

namespace trainyard::run {

// Adds to what is bound of an op, where it has to do with named rows. `address` finds the beginning
// of an access in memory.
void bind_named_rows(const plan::Op& op, const plan::RankPlan& plan, const model::Model& model,
                     const std::function<std::byte*(const plan::Access&)>& address, BoundOp& bound);

// Of a pull or give: which rows it is about.
NamedRows table_of(const plan::Op& op, const plan::RankPlan& plan, const model::Model& model);

}  // namespace trainyard::run
