// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda/module/convolution.h"
#include "backends/cuda/module/cudnn/library.h"

namespace trainyard::cuda::cudnn {

// Tensor of a convolution as cuDNN's functions take it: a descriptor and an address.
template <class Opaque>
struct DescribedTensor {
  std::shared_ptr<Opaque> descriptor;
  std::byte* data = nullptr;
};

struct Description {
  DescribedTensor<cudnnTensorStruct> input, output, bias;  // `bias` is empty if there is none
  DescribedTensor<cudnnFilterStruct> weight;
  std::shared_ptr<cudnnConvolutionStruct> window;
  std::shared_ptr<cudnnActivationStruct> activation;
};

// Describes a convolution for cuDNN. Returns nullopt if cuDNN cannot express it.
std::optional<Description> describe(const Library& library, const Convolution& convolution);

}  // namespace trainyard::cuda::cudnn
