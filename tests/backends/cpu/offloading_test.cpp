// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"
#include "tests/conformance/offloaded_training.h"

namespace trainyard::tests {
namespace {

TEST(Offloading, on_the_cpu_is_bit_identical) {
  offloaded::expect_the_same_bits_in_every_strategy([] { return std::move(*cpu::make(1)); });
}

}  // namespace
}  // namespace trainyard::tests
