// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/compute_attention_conformance.h"
#include "tests/conformance/compute_compression_conformance.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_row_conformance.h"

namespace trainyard::conformance {

INSTANTIATE_TEST_SUITE_P(reference, ComputeConformance,
                         testing::Values(Backend{"reference",
                                                 [] { return compute::reference::make(); }}));

}  // namespace trainyard::conformance
