// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <vector>

#include "core/compute/compute.h"

namespace trainyard::cuda::module {

// Returns a chain that runs kernels of GPU `gpu` as a CUDA graph, on its GpuQueues. The first call
// enqueues the kernels one by one, because libraries initialize state that must not be captured.
// The second call captures them, and later calls launch the graph. Ops that cannot be captured are
// always enqueued one by one.
std::unique_ptr<compute::Chain> make_graph_chain(int gpu,
                                                 std::vector<std::vector<compute::Kernel*>> ops);

}  // namespace trainyard::cuda::module
