// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/cpu.h"
#include "tests/conformance/compute_attention_conformance.h"
#include "tests/conformance/compute_compression_conformance.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_row_conformance.h"

namespace trainyard::conformance {

// oneDNN keeps the arguments of a call in a hash table; a convolution is two calls.
constexpr long kDnnlArguments = 16;

INSTANTIATE_TEST_SUITE_P(
    cpu, ComputeConformance,
    testing::Values(Backend{"one_core", [] { return std::move(*cpu::make(1)); }, kDnnlArguments},
                    Backend{"two_cores", [] { return std::move(*cpu::make(2)); }, kDnnlArguments}));

}  // namespace trainyard::conformance
