// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/backends/cuda/host/host_device.h"
#include "tests/conformance/compute_embedding_conformance.h"
#include "tests/conformance/compute_halves_conformance.h"

namespace trainyard::conformance {

INSTANTIATE_TEST_SUITE_P(cuda, ComputeConformance, testing::Values(Backend{"kernels_on_the_host", [] { return cuda::on_host(); }}));

// Three threads are no divisor of any tile: what one of them leaves out, or reads before another has written it, shows; ThreadSanitizer sees it, too.
TEST(KernelsOfTeams, of_three_threads_equal_the_reference) {
  const auto device = cuda::on_host({.team = 3}), reference = compute::reference::make();
  for (const Sizes& sizes : {Sizes{0, 7, 5}, {7, 17, 33}})
    for (const NamedCase& named : all_cases()) compare(*device, *reference, named, DType::fp32, sizes);
}

}  // namespace trainyard::conformance
