// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cuda/host/host_device.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

INSTANTIATE_TEST_SUITE_P(cuda, ComputeConformance, testing::Values(Backend{"kernels_on_the_host", cuda::on_host}));

}  // namespace trainyard::conformance
