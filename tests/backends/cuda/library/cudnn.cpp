// SPDX-License-Identifier: GPL-3.0-or-later
// Substitute for cuDNN's library: the functions that we call, according to its reference, on memory
// of this process. It uses only the extents and strides of its descriptors. Only one of its
// algorithms is allowed to us; it accepts no others, and no workspace smaller than it asked for.
#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <new>

#include "tests/backends/cuda/library/convolve.h"
#include "tests/backends/cuda/library/cudnn_stand_in.h"

using trainyard::cuda::stand_in::Extents;
using trainyard::cuda::stand_in::for_all;
using trainyard::cuda::stand_in::number;
using trainyard::cuda::stand_in::Places;
using trainyard::cuda::stand_in::put;
using trainyard::cuda::stand_in::Whole;

struct cudnnTensorStruct : Extents {};
struct cudnnFilterStruct : Extents {};
struct cudnnConvolutionStruct : trainyard::cuda::stand_in::Window {};
struct cudnnActivationStruct {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_TANH;
  cudnnNanPropagation_t nan = CUDNN_PROPAGATE_NAN;
};
struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

trainyard::cuda::stand_in::Cudnn state{.version = CUDNN_VERSION};

// Its algorithms, by the numbers that they have in all directions; DIRECT and FILTER_ALGO_3 share
// theirs.
constexpr int kUnsteady = 0, kUsual = 1, kWithoutIdentity = 2, kOfNoUse = 3;
constexpr std::size_t kTooLarge = (std::size_t{256} << 20) + 1;

// Answer of the library about an algorithm.
struct Said {
  int name;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  cudnnDeterminism_t determinism = CUDNN_DETERMINISTIC;
};

std::size_t room_of(const Extents& made) {
  return static_cast<std::size_t>(made.elements()) * sizeof(double);
}

// The fastest first: one that gives other bits each time, one that it has not got, one by Winograd,
// then those of the direction.
template <class Found>
cudnnStatus_t say(const Whole& whole, int winograd, std::initializer_list<int> more, int most,
                  int* count, Found* found) {
  *count = 0;
  if (!state.has_algorithms || !whole.holds()) return CUDNN_STATUS_NOT_SUPPORTED;
  const auto add = [&](const Said& text) {
    if (*count == most) return;
    Found& one = found[(*count)++];
    one.algo = static_cast<decltype(one.algo)>(text.name), one.status = text.status,
    one.determinism = text.determinism;
  };
  add({kUnsteady, CUDNN_STATUS_SUCCESS, CUDNN_NON_DETERMINISTIC});
  add({kUnsteady, CUDNN_STATUS_NOT_SUPPORTED});
  add({winograd});
  for (const int name : more) add({name});
  add({kUsual});
  return CUDNN_STATUS_SUCCESS;
}

bool lies(const void* data) {
  return data != nullptr && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}

// Arguments of a convolution.
struct Given {
  int algorithm;
  std::array<const void*, 3> data;
  void* room;
  std::size_t bytes;
};

template <class At>
cudnnStatus_t make(const Whole& whole, const Given& given, const Extents& made, void* to,
                   int& count, const At& at) {
  if (!state.makes) return CUDNN_STATUS_EXECUTION_FAILED;
  if (!whole.holds() || (given.algorithm != kUsual && given.algorithm != kWithoutIdentity))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (given.bytes < room_of(made) || given.room == nullptr ||
      !std::ranges::all_of(given.data, lies))
    return CUDNN_STATUS_BAD_PARAM;
  std::memset(given.room, 0xEE, given.bytes);
  for_all(made, [&](const Places& place) { put(made, to, place, at(place)); });
  ++count;
  return CUDNN_STATUS_SUCCESS;
}

template <class Struct>
cudnnStatus_t create(Struct** made) {
  *made = new (std::nothrow) Struct;
  return *made == nullptr ? CUDNN_STATUS_ALLOC_FAILED : CUDNN_STATUS_SUCCESS;
}
template <class Struct>
cudnnStatus_t destroy(Struct* gone) {
  delete gone;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set(Extents& extents, cudnnTensorFormat_t format, cudnnDataType_t type,
                  const std::array<int, 4>& of) {
  extents = {type, format, of};
  return std::ranges::all_of(of, [](int one) { return one > 0; }) ? CUDNN_STATUS_SUCCESS
                                                                  : CUDNN_STATUS_BAD_PARAM;
}

}  // namespace

// NOLINTBEGIN(readability-function-size,readability-inconsistent-declaration-parameter-name):
// functions have as many parameters as cuDNN gave them
extern "C" {

trainyard::cuda::stand_in::Cudnn* cudnn_stand_in() { return &state; }

std::size_t cudnnGetVersion() { return state.version; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_EXECUTION_FAILED ? "CUDNN_STATUS_EXECUTION_FAILED"
                                                 : "another status";
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  return state.starts ? create(handle) : CUDNN_STATUS_NOT_INITIALIZED;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return destroy(handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return handle->stream = stream, CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return create(made); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t gone) { return destroy(gone); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t tensor, cudnnTensorFormat_t format,
                                         cudnnDataType_t type, int n, int c, int h, int w) {
  return set(*tensor, format, type, {n, c, h, w});
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) { return create(made); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t gone) { return destroy(gone); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t weight, cudnnDataType_t type,
                                         cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return set(*weight, format, type, {k, c, h, w});
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return create(made);
}
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t gone) {
  return destroy(gone);
}
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t window, int pad_h,
                                              int pad_w, int u, int v, int dilation_h,
                                              int dilation_w, cudnnConvolutionMode_t mode,
                                              cudnnDataType_t type) {
  window->padding = pad_h, window->stride = u;
  const bool even = pad_h == pad_w && u == v && dilation_h == 1 && dilation_w == 1;
  return even && mode == CUDNN_CROSS_CORRELATION && type == CUDNN_DATA_FLOAT
             ? CUDNN_STATUS_SUCCESS
             : CUDNN_STATUS_NOT_SUPPORTED;
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t window,
                                          cudnnMathType_t math) {
  return window->math = math, CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) {
  return create(made);
}
cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t gone) {
  return destroy(gone);
}
cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t activation,
                                           cudnnActivationMode_t mode, cudnnNanPropagation_t nan,
                                           double) {
  *activation = {mode, nan};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(cudnnHandle_t, cudnnTensorDescriptor_t x,
                                                     cudnnFilterDescriptor_t w,
                                                     cudnnConvolutionDescriptor_t window,
                                                     cudnnTensorDescriptor_t y, int most,
                                                     int* count,
                                                     cudnnConvolutionFwdAlgoPerf_t* found) {
  return say({*x, *w, *y, *window}, CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD,
             {kOfNoUse, kWithoutIdentity}, most, count, found);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t algorithm, std::size_t* bytes) {
  *bytes = algorithm == kOfNoUse ? kTooLarge : room_of(*y);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*, cudnnTensorDescriptor_t x_is,
                                      const void* x, cudnnFilterDescriptor_t w_is, const void* w,
                                      cudnnConvolutionDescriptor_t window,
                                      cudnnConvolutionFwdAlgo_t algorithm, void* room,
                                      std::size_t bytes, const void*, cudnnTensorDescriptor_t y_is,
                                      void* y) {
  const Whole whole{*x_is, *w_is, *y_is, *window};
  return make(whole, {algorithm, {x, w, y}, room, bytes}, *y_is, y, state.outputs,
              [&](const Places& at) { return whole.output_at(x, w, at); });
}
cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void*, cudnnTensorDescriptor_t x_is, const void* x,
    cudnnFilterDescriptor_t w_is, const void* w, cudnnConvolutionDescriptor_t window,
    cudnnConvolutionFwdAlgo_t algorithm, void* room, std::size_t bytes, const void* more,
    cudnnTensorDescriptor_t, const void*, cudnnTensorDescriptor_t bias_is, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t y_is, void* y) {
  const bool relu = activation->mode == CUDNN_ACTIVATION_RELU,
             identity = activation->mode == CUDNN_ACTIVATION_IDENTITY;
  if (!state.adds_bias || activation->nan != CUDNN_NOT_PROPAGATE_NAN ||
      *static_cast<const float*>(more) != 0)
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (!relu && !(identity && algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM))
    return CUDNN_STATUS_NOT_SUPPORTED;
  if (bias_is->type != y_is->type || bias_is->of != std::array{1, y_is->of[1], 1, 1} || !lies(bias))
    return CUDNN_STATUS_BAD_PARAM;
  const Whole whole{*x_is, *w_is, *y_is, *window};
  return make(whole, {algorithm, {x, w, y}, room, bytes}, *y_is, y, state.outputs_with_bias,
              [&](const Places& at) {
                const double sum = whole.output_at(x, w, at) +
                                   number(*bias_is, bias, {0, at[1], 0, 0}, CUDNN_FMA_MATH);
                return relu && !(sum > 0) ? 0 : sum;
              });
}

cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(
    cudnnHandle_t, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t window, cudnnTensorDescriptor_t x, int most, int* count,
    cudnnConvolutionBwdDataAlgoPerf_t* found) {
  return say({*x, *w, *y, *window}, CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD, {}, most, count,
             found);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(
    cudnnHandle_t, cudnnFilterDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t x, cudnnConvolutionBwdDataAlgo_t, std::size_t* bytes) {
  *bytes = room_of(*x);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionBackwardData(cudnnHandle_t, const void*, cudnnFilterDescriptor_t w_is,
                                           const void* w, cudnnTensorDescriptor_t y_is,
                                           const void* dy, cudnnConvolutionDescriptor_t window,
                                           cudnnConvolutionBwdDataAlgo_t algorithm, void* room,
                                           std::size_t bytes, const void*,
                                           cudnnTensorDescriptor_t x_is, void* dx) {
  const Whole whole{*x_is, *w_is, *y_is, *window};
  return make(whole, {algorithm, {dx, w, dy}, room, bytes}, *x_is, dx, state.input_gradients,
              [&](const Places& at) { return whole.input_gradient_at(dy, w, at); });
}

cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t y,
    cudnnConvolutionDescriptor_t window, cudnnFilterDescriptor_t w, int most, int* count,
    cudnnConvolutionBwdFilterAlgoPerf_t* found) {
  return say({*x, *w, *y, *window}, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED, {kOfNoUse},
             most, count, found);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnTensorDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnFilterDescriptor_t w, cudnnConvolutionBwdFilterAlgo_t algorithm, std::size_t* bytes) {
  *bytes = room_of(*w);
  return algorithm == kOfNoUse ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnConvolutionBackwardFilter(cudnnHandle_t, const void*,
                                             cudnnTensorDescriptor_t x_is, const void* x,
                                             cudnnTensorDescriptor_t y_is, const void* dy,
                                             cudnnConvolutionDescriptor_t window,
                                             cudnnConvolutionBwdFilterAlgo_t algorithm, void* room,
                                             std::size_t bytes, const void*,
                                             cudnnFilterDescriptor_t w_is, void* dw) {
  const Whole whole{*x_is, *w_is, *y_is, *window};
  return make(whole, {algorithm, {x, dw, dy}, room, bytes}, *w_is, dw, state.weight_gradients,
              [&](const Places& at) { return whole.weight_gradient_at(x, dy, at); });
}

}  // extern "C"
// NOLINTEND(readability-function-size,readability-inconsistent-declaration-parameter-name)
