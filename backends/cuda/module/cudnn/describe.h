// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda/module/convolution.h"
#include "backends/cuda/module/cudnn/library.h"

namespace trainyard::cuda::cudnn {

// A tensor of a convolution, as cuDNN's functions take it.
template <class Opaque>
struct Described {
  std::shared_ptr<Opaque> descriptor;
  std::byte* data = nullptr;
};

struct Description {
  Described<cudnnTensorStruct> input, output, bias;  // the last of nothing where there is no bias
  Described<cudnnFilterStruct> weight;
  std::shared_ptr<cudnnConvolutionStruct> window;
  std::shared_ptr<cudnnActivationStruct> activation;
};

// Nothing: cuDNN has no words for it.
std::optional<Description> describe(const Library& library, const Convolution& convolution);

}  // namespace trainyard::cuda::cudnn
