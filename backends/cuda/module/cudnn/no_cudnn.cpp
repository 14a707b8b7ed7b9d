// SPDX-License-Identifier: GPL-3.0-or-later
// Replaces the other sources if the header of cuDNN is missing.
#include "backends/cuda/module/cudnn/cudnn.h"

namespace trainyard::cuda::cudnn {

base::Result<std::unique_ptr<Convolutions>> open(const Allocate&, const std::string&) {
  return base::fail({"cudnn_unavailable", base::ProblemCode::unavailable, "cuda",
                     "this build of Trainyard does not contain cuDNN", "",
                     "Install the CUDA Toolkit and the headers of cuDNN, and configure again with "
                     "-DTRAINYARD_CUDA=ON."});
}

}  // namespace trainyard::cuda::cudnn
