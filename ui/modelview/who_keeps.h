// SPDX-License-Identifier: GPL-3.0-or-later
// Who has the layers of a model, and its parameters, where not each device has some.
#pragma once

#include <QString>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

// In a sentence: "Every device has all layers, with the same parameters as all others." Of any experiment with workers.
QString who_keeps(const experiment::Experiment& experiment);

// By segment, the ranks that keep its parameters, where they are not with those who compute by them: servers, a storage, rank 0 of data_parallel. Else none.
std::vector<std::vector<int>> keepers_of(const experiment::Resolved& experiment);

}  // namespace trainyard::ui
