// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions by cuDNN. Its library is opened at run time: a machine without it makes them by
// columns (kernels/convolution_columns.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backends/cuda/module/convolution.h"
#include "core/compute/compute.h"

namespace trainyard::cuda::cudnn {

// Puts what was prepared on a stream (cudaStream_t); allocates nothing, and waits for nothing.
// Problem: cuDNN refused after all, and nothing was made.
using Work = std::function<base::Result<void>(void* stream)>;
using Allocate = std::function<base::Result<compute::Memory>(std::int64_t bytes)>;

class Convolutions {
 public:
  static constexpr std::int64_t kMostRoom =
      std::int64_t{256} << 20;  // bytes that a convolution may ask for to work in

  virtual ~Convolutions() = default;
  virtual std::string name() const = 0;  // "cuDNN 9.19.0"
  // By what cuDNN expects to be the fastest of its algorithms that multiply and sum as they are
  // asked, and give the same bits always; in true fp32 (no TF32) if that is its dtype. Nothing: it
  // has none, or none for less than kMostRoom. Problem: there is no such room on the GPU. All work
  // goes on one queue at a time, since it shares its room.
  virtual base::Result<std::optional<Work>> convolution(const Convolution& convolution) = 0;
};

// On the GPU that this thread uses. `file` is the library; empty: that of the major version by
// which this was built. Problems, `unavailable`: this build has no cuDNN, as of open_library, or
// cuDNN does not start.
base::Result<std::unique_ptr<Convolutions>> open(const Allocate& allocate,
                                                 const std::string& file = "");

}  // namespace trainyard::cuda::cudnn
