// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions by cuDNN, whose library is opened at run time. Machines without it use im2col
// columns (kernels/convolution_columns.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/module/convolution.h"
#include "core/compute/compute.h"

namespace trainyard::cuda::cudnn {

// Enqueues prepared work on a stream (cudaStream_t), without allocating or waiting. Returns a
// Problem if cuDNN refuses; nothing is then enqueued.
using Work = std::function<base::Result<void>(void* stream)>;
using Allocate = std::function<base::Result<compute::Memory>(std::int64_t bytes)>;

class Convolutions {
 public:
  static constexpr std::int64_t kMaxWorkspaceBytes =
      std::int64_t{256} << 20;  // Largest workspace of a convolution, in bytes.

  virtual ~Convolutions() = default;
  virtual std::string name() const = 0;  // for example "cuDNN 9.19.0"
  // Prepares the convolution with the algorithm that cuDNN expects to be fastest, among
  // deterministic ones that do not transform their inputs. fp32 uses TF32 only if `tf32` is set.
  // Returns nullopt if cuDNN has no such algorithm with a workspace of at most kMaxWorkspaceBytes.
  // Returns a Problem if the GPU has no memory for the workspace. All work shares one workspace, so
  // only one queue at a time may run it.
  virtual base::Result<std::optional<Work>> convolution(const Convolution& convolution) = 0;
};

// Opens cuDNN on the current GPU of this thread. `file` is the library; if empty, that of the major
// version of this build. Problems, `unavailable`: this build has no cuDNN, open_library failed, or
// cuDNN does not start.
base::Result<std::unique_ptr<Convolutions>> open(const Allocate& allocate,
                                                 const std::string& file = "");

}  // namespace trainyard::cuda::cudnn
