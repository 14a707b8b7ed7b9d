// SPDX-License-Identifier: GPL-3.0-or-later
// How many rows of tables the rounds of a plan's workers name: who has the samples can count them,
// without a model.
#pragma once

#include <functional>
#include <memory>

#include "core/data/dataset.h"
#include "core/data/sampler.h"
#include "core/model/model.h"
#include "core/plan/plan.h"

namespace trainyard::run {

// Of the share number `share`, the samples that `worker` takes in `step`. Empty: nobody knows; what
// a list holds at most is to be taken for it.
using RowCount = std::function<std::int64_t(int worker, std::int64_t step, int share)>;

// Empty where no rows are named.
RowCount row_counts(const plan::Plan& plan, const model::Model& model,
                    std::shared_ptr<const data::Dataset> dataset, const data::Sampler& sampler);
bool names_rows(const plan::Plan& plan);

}  // namespace trainyard::run
