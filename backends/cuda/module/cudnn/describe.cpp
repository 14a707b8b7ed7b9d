// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cuda/module/cudnn/describe.h"

#include <limits>

namespace trainyard::cuda::cudnn {
namespace {

using compute::Activation;
using compute::DType;
using compute::Tensor;

cudnnDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::bf16: return CUDNN_DATA_BFLOAT16;
    case DType::fp16: return CUDNN_DATA_HALF;
    default: return CUDNN_DATA_FLOAT;
  }
}

// Returns the math type of a convolution. Without TF32, fp32 inputs are multiplied in fp32. Tensor
// cores multiply 16-bit inputs exactly.
cudnnMathType_t arithmetic_of(const Convolution& convolution) {
  if (convolution.input.dtype != DType::fp32) return CUDNN_TENSOR_OP_MATH;
  return convolution.tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
}

// Creates the descriptors of a convolution one by one, and stops at the first that cuDNN refuses.
class Describer {
 public:
  explicit Describer(const Library& library) : library_(library) {}
  bool refused() const { return refused_; }

  // Describes images [B,H,W,C]. cuDNN lists dimensions in the order NCHW for every memory layout.
  DescribedTensor<cudnnTensorStruct> images(const Tensor& t) {
    return tensor(t, t.shape[0], t.shape[3], t.shape[1], t.shape[2]);
  }
  DescribedTensor<cudnnTensorStruct> bias(const Tensor& t) {
    return t.empty() ? DescribedTensor<cudnnTensorStruct>{} : tensor(t, 1, t.shape[0], 1, 1);
  }

  // [O,K,K,I]
  DescribedTensor<cudnnFilterStruct> weight(const Tensor& t) {
    auto made = make<cudnnFilterStruct>(library_.create_weight, library_.destroy_weight);
    if (fits(t))
      check(library_.set_weight(made.get(), type_of(t.dtype), CUDNN_TENSOR_NHWC, in_int(t.shape[0]),
                                in_int(t.shape[3]), in_int(t.shape[1]), in_int(t.shape[2])));
    return {std::move(made), t.data};
  }

  std::shared_ptr<cudnnConvolutionStruct> window(const Convolution& convolution) {
    const compute::Window& window = convolution.window;
    auto made = make<cudnnConvolutionStruct>(library_.create_window, library_.destroy_window);
    const int padding = in_int(window.padding), stride = in_int(window.stride);
    check(library_.set_window(made.get(), padding, padding, stride, stride, 1, 1,
                              CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT));
    check(library_.set_arithmetic(made.get(), arithmetic_of(convolution)));
    return made;
  }

  std::shared_ptr<cudnnActivationStruct> activation(Activation activation) {
    auto made =
        make<cudnnActivationStruct>(library_.create_activation, library_.destroy_activation);
    const auto mode =
        activation == Activation::relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY;
    check(library_.set_activation(made.get(), mode, CUDNN_NOT_PROPAGATE_NAN, 0));
    return made;
  }

 private:
  void check(cudnnStatus_t status) { refused_ |= status != CUDNN_STATUS_SUCCESS; }
  // True if the elements can be counted in an int, as cuDNN requires.
  bool fits(const Tensor& t) {
    refused_ |= t.elements() > std::numeric_limits<int>::max();
    return !refused_;
  }
  static int in_int(std::int64_t extent) { return static_cast<int>(extent); }

  template <class Opaque, class Create, class Destroy>
  std::shared_ptr<Opaque> make(Create create, Destroy destroy) {
    Opaque* made = nullptr;
    check(create(&made));
    return {made, [destroy](Opaque* gone) {
              if (gone != nullptr) destroy(gone);
            }};
  }

  DescribedTensor<cudnnTensorStruct> tensor(const Tensor& t, std::int64_t batch,
                                            std::int64_t channels, std::int64_t height,
                                            std::int64_t width) {
    auto made = make<cudnnTensorStruct>(library_.create_tensor, library_.destroy_tensor);
    if (fits(t))
      check(library_.set_tensor(made.get(), CUDNN_TENSOR_NHWC, type_of(t.dtype), in_int(batch),
                                in_int(channels), in_int(height), in_int(width)));
    return {std::move(made), t.data};
  }

  const Library& library_;
  bool refused_ = false;
};

}  // namespace

std::optional<Description> describe(const Library& library, const Convolution& convolution) {
  Describer describer(library);
  Description made{
      describer.images(convolution.input), describer.images(convolution.output),
      describer.bias(convolution.bias),    describer.weight(convolution.weight),
      describer.window(convolution),       describer.activation(convolution.activation)};
  if (describer.refused()) return std::nullopt;
  return made;
}

}  // namespace trainyard::cuda::cudnn
