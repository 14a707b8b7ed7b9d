// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cpu/training_alone.h"

#include "backends/cpu/cpu.h"

namespace trainyard::tests {

RankOutcome trained(const experiment::Experiment& e, const MakeCompute& make) {
  return train(experiment::resolve(e, ".").value(), make, {})
      .front();  // a rank alone has no transport
}

std::unique_ptr<compute::Compute> cpu_of_one() { return std::move(*cpu::make(1)); }

}  // namespace trainyard::tests
