// SPDX-License-Identifier: GPL-3.0-or-later
// Training on one device.
#pragma once

#include "tests/conformance/small_training.h"

namespace trainyard::tests {

RankOutcome trained(const experiment::Experiment& e, const MakeCompute& make);

std::unique_ptr<compute::Compute> cpu_of_one();

}  // namespace trainyard::tests
