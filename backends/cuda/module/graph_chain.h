// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <vector>

#include "core/compute/compute.h"

namespace trainyard::cuda::module {

// Kernels of GPU `gpu` as a CUDA graph, for its GpuQueues. The first time they are enqueued one by
// one, since libraries make ready then what a graph must not make; the second time what they
// enqueue is captured, and from then on launched as one. What cannot be captured goes on one by
// one.
std::unique_ptr<compute::Chain> make_graph_chain(int gpu,
                                                 std::vector<std::vector<compute::Kernel*>> ops);

}  // namespace trainyard::cuda::module
