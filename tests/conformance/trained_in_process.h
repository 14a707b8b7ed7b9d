// SPDX-License-Identifier: GPL-3.0-or-later
// Small trainings whose ranks are threads of the test.
#pragma once

#include "backends/inproc/transport.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

inline std::vector<std::unique_ptr<comm::Transport>> in_process(int ranks,
                                                                std::size_t arena_bytes) {
  return inproc::make(ranks, arena_bytes, {64}).value();
}
inline std::vector<RankOutcome> trained(const experiment::Experiment& e) {
  return trained_by(e, in_process);
}

}  // namespace trainyard::tests
