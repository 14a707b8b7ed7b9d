// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cudnn.h>

#include <string>

#include "core/base/result.h"

namespace trainyard::cuda::cudnn {

// Functions of one convolution direction: list the algorithms (fastest first), return the workspace
// size, and run the convolution.
template <class Ask, class WorkspaceSize, class Make>
struct Direction {
  Ask ask = nullptr;
  WorkspaceSize workspace_size = nullptr;
  Make make = nullptr;
};

struct Library {
  decltype(&::cudnnGetVersion) version = nullptr;
  decltype(&::cudnnGetErrorString) error_string = nullptr;
  decltype(&::cudnnCreate) start = nullptr;
  decltype(&::cudnnDestroy) end = nullptr;
  decltype(&::cudnnSetStream) set_stream = nullptr;

  decltype(&::cudnnCreateTensorDescriptor) create_tensor = nullptr;
  decltype(&::cudnnSetTensor4dDescriptor) set_tensor = nullptr;
  decltype(&::cudnnDestroyTensorDescriptor) destroy_tensor = nullptr;
  decltype(&::cudnnCreateFilterDescriptor) create_weight = nullptr;
  decltype(&::cudnnSetFilter4dDescriptor) set_weight = nullptr;
  decltype(&::cudnnDestroyFilterDescriptor) destroy_weight = nullptr;
  decltype(&::cudnnCreateConvolutionDescriptor) create_window = nullptr;
  decltype(&::cudnnSetConvolution2dDescriptor) set_window = nullptr;
  decltype(&::cudnnSetConvolutionMathType) set_arithmetic = nullptr;
  decltype(&::cudnnDestroyConvolutionDescriptor) destroy_window = nullptr;
  decltype(&::cudnnCreateActivationDescriptor) create_activation = nullptr;
  decltype(&::cudnnSetActivationDescriptor) set_activation = nullptr;
  decltype(&::cudnnDestroyActivationDescriptor) destroy_activation = nullptr;

  Direction<decltype(&::cudnnGetConvolutionForwardAlgorithm_v7),
            decltype(&::cudnnGetConvolutionForwardWorkspaceSize),
            decltype(&::cudnnConvolutionForward)>
      forward;
  decltype(&::cudnnConvolutionBiasActivationForward) forward_with_bias = nullptr;
  Direction<decltype(&::cudnnGetConvolutionBackwardDataAlgorithm_v7),
            decltype(&::cudnnGetConvolutionBackwardDataWorkspaceSize),
            decltype(&::cudnnConvolutionBackwardData)>
      backward_input;
  Direction<decltype(&::cudnnGetConvolutionBackwardFilterAlgorithm_v7),
            decltype(&::cudnnGetConvolutionBackwardFilterWorkspaceSize),
            decltype(&::cudnnConvolutionBackwardFilter)>
      backward_weight;

  std::string name() const;  // for example "cuDNN 9.19.0"
};

// Opens cuDNN. An empty `file` means the library of the header's major version. The library is
// never closed. Problems, `unavailable`: it cannot be opened, lacks a function, or has another
// major version than the header.
base::Result<Library> open_library(const std::string& file);

}  // namespace trainyard::cuda::cudnn
