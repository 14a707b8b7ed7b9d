// SPDX-License-Identifier: GPL-3.0-or-later
// Counts the table rows that each round of a plan's workers looks up, from the samples alone,
// without a model.
#pragma once

#include <functional>
#include <memory>

#include "core/data/dataset.h"
#include "core/data/sampler.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Function that returns the number of table rows of share `share` that the samples of `worker` in
// `step` look up. If the function is empty, the number is unknown, and the maximum length of a list
// is used instead.
using RowCount = std::function<std::int64_t(int worker, std::int64_t step, int share)>;

// Returns an empty function if workers transfer full tables.
RowCount row_counts(const plan::Plan& plan, const model::Model& model,
                    std::shared_ptr<const data::Dataset> dataset, const data::Sampler& sampler);
bool names_rows(const plan::Plan& plan);

}  // namespace trainyard::run
