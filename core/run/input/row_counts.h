// SPDX-License-Identifier: GPL-3.0-or-later
// Counts the table rows that the rounds of a plan's workers name, from the samples alone, without a
// model.
#pragma once

#include <functional>
#include <memory>

#include "core/data/dataset.h"
#include "core/data/sampler.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Returns the number of rows of share `share` that the samples of `worker` in `step` name. Empty
// function: unknown; use the maximum of a list.
using RowCount = std::function<std::int64_t(int worker, std::int64_t step, int share)>;

// Returns an empty function if no rows are named.
RowCount row_counts(const plan::Plan& plan, const model::Model& model,
                    std::shared_ptr<const data::Dataset> dataset, const data::Sampler& sampler);
bool names_rows(const plan::Plan& plan);

}  // namespace trainyard::run
