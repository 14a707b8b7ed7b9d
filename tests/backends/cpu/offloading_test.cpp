// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"
#include "tests/conformance/offloaded_training.h"

namespace trainyard::tests {
namespace {

TEST(Offloading, changes_no_bit_on_a_processor_either) {
  swapped::expect_the_same_bits_in_every_strategy([] { return std::move(*cpu::make(1)); });
}

}  // namespace
}  // namespace trainyard::tests
