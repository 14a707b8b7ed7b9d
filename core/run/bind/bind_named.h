// SPDX-License-Identifier: GPL-3.0-or-later
// Binds ops that transfer only the table rows that a worker lists ("named rows") to addresses in
// memory.
#pragma once

#include <functional>

#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

// Completes the binding of an op that transfers, packs or lists named rows. `address` maps the
// start of an access to memory.
void bind_named_rows(const plan::Op& op, const plan::RankPlan& plan, const model::Model& model,
                     const std::function<std::byte*(const plan::Access&)>& address, BoundOp& bound);

// Returns the range of table rows that belong to a pull or give op.
NamedRows table_of(const plan::Op& op, const plan::RankPlan& plan, const model::Model& model);

}  // namespace trainyard::run
