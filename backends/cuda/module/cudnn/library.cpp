// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/cudnn/library.h"

#include "core/base/functions.h"

namespace trainyard::cuda::cudnn {
namespace {

using base::Functions;

// Formats a version number as encoded by cuDNN 9 and later.
std::string describe(std::size_t version) {
  return std::to_string(version / 10'000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

void find_descriptors(Functions& functions, Library& library) {
  functions.find(library.create_tensor, "cudnnCreateTensorDescriptor");
  functions.find(library.set_tensor, "cudnnSetTensor4dDescriptor");
  functions.find(library.destroy_tensor, "cudnnDestroyTensorDescriptor");
  functions.find(library.create_weight, "cudnnCreateFilterDescriptor");
  functions.find(library.set_weight, "cudnnSetFilter4dDescriptor");
  functions.find(library.destroy_weight, "cudnnDestroyFilterDescriptor");
  functions.find(library.create_window, "cudnnCreateConvolutionDescriptor");
  functions.find(library.set_window, "cudnnSetConvolution2dDescriptor");
  functions.find(library.set_arithmetic, "cudnnSetConvolutionMathType");
  functions.find(library.destroy_window, "cudnnDestroyConvolutionDescriptor");
  functions.find(library.create_activation, "cudnnCreateActivationDescriptor");
  functions.find(library.set_activation, "cudnnSetActivationDescriptor");
  functions.find(library.destroy_activation, "cudnnDestroyActivationDescriptor");
}

void find_convolutions(Functions& functions, Library& library) {
  functions.find(library.forward.ask, "cudnnGetConvolutionForwardAlgorithm_v7");
  functions.find(library.forward.workspace_size, "cudnnGetConvolutionForwardWorkspaceSize");
  functions.find(library.forward.make, "cudnnConvolutionForward");
  functions.find(library.forward_with_bias, "cudnnConvolutionBiasActivationForward");
  functions.find(library.backward_input.ask, "cudnnGetConvolutionBackwardDataAlgorithm_v7");
  functions.find(library.backward_input.workspace_size,
                 "cudnnGetConvolutionBackwardDataWorkspaceSize");
  functions.find(library.backward_input.make, "cudnnConvolutionBackwardData");
  functions.find(library.backward_weight.ask, "cudnnGetConvolutionBackwardFilterAlgorithm_v7");
  functions.find(library.backward_weight.workspace_size,
                 "cudnnGetConvolutionBackwardFilterWorkspaceSize");
  functions.find(library.backward_weight.make, "cudnnConvolutionBackwardFilter");
}

}  // namespace

std::string Library::name() const { return "cuDNN " + describe(version()); }

base::Result<Library> open_library(const std::string& file) {
  Functions functions(file.empty() ? "libcudnn.so." + std::to_string(CUDNN_MAJOR) : file,
                      "Install cuDNN. Without it, convolutions use the im2col method.");
  Library library;
  functions.find(library.version, "cudnnGetVersion");
  functions.find(library.error_string, "cudnnGetErrorString");
  functions.find(library.start, "cudnnCreate");
  functions.find(library.end, "cudnnDestroy");
  functions.find(library.set_stream, "cudnnSetStream");
  find_descriptors(functions, library);
  find_convolutions(functions, library);
  if (const auto found = functions.state(); !found) return base::fail(found.error());
  if (const std::size_t version = library.version();
      // Versions before 9 encode the major version with a factor of 1000, so this quotient is 0 for
      // them.
      version / 10'000 != CUDNN_MAJOR)
    return base::fail(functions.unavailable("the version of cuDNN is " + describe(version) +
                                            ", but Trainyard was built with " +
                                            describe(CUDNN_VERSION)));
  return library;
}

}  // namespace trainyard::cuda::cudnn
