// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"
#include "tests/conformance/recomputed_training.h"

namespace trainyard::tests {
namespace {

TEST(Recomputation, on_the_cpu_is_bit_identical) {
  recomputed::expect_the_same_bits_in_every_strategy([] { return std::move(*cpu::make(1)); });
}

TEST(Recomputation, on_the_cpu_is_bit_identical_in_bf16) {
  recomputed::expect_the_same_bits_in_every_strategy([] { return std::move(*cpu::make(1)); },
                                                     experiment::Precision::bf16);
}

}  // namespace
}  // namespace trainyard::tests
