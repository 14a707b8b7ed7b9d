// SPDX-License-Identifier: GPL-3.0-or-later
// Stubs that are compiled instead of the other source files if NCCL's header is missing.
#include "backends/nccl/nccl.h"

namespace trainyard::nccl {

base::Result<std::unique_ptr<comm::BoundCollectives>> bind(const Options&,
                                                           std::unique_ptr<compute::Streams>) {
  return base::fail(
      {"engine_not_built", base::ProblemCode::unavailable, "strategy.engine",
       "this build of Trainyard does not contain NCCL", "own",
       "Install the CUDA Toolkit and libnccl-dev, and configure again with -DTRAINYARD_CUDA=ON."});
}

bool supports(comm::CollectiveKind, base::Reduction, base::DType) { return false; }

}  // namespace trainyard::nccl
