// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <bit>
#include <mutex>
#include <span>

#include "backends/cuda/module/cudnn/cudnn.h"
#include "backends/cuda/module/cudnn/describe.h"

namespace trainyard::cuda::cudnn {
namespace {

using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::Activation;
using compute::Memory;

constexpr int kMaxAlgorithms =
    32;  // Maximum number of algorithms per direction. cuDNN 9 has 8, each with several math types.
constexpr float kOne = 1, kZero = 0;

Problem refused(const Library& library, cudnnStatus_t status, const std::string& what) {
  return {"cudnn_failed",
          ProblemCode::failed,
          "cuda",
          library.name() + " failed: " + what + " (" + library.error_string(status) + ")",
          "",
          ""};
}

// cuDNN handle on a GPU. Only one thread may use it at a time.
struct CudnnHandle {
  Library library;
  cudnnHandle_t handle = nullptr;
  std::optional<void*> stream;  // the stream last set on the handle
  std::mutex mutex;

  ~CudnnHandle() {
    if (handle != nullptr) library.end(handle);
  }
  template <class Ask>
  Result<void> on(void* one, const Ask& ask) {
    const std::scoped_lock lock(mutex);
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    if (stream != one) status = library.set_stream(handle, static_cast<cudaStream_t>(one));
    stream = status == CUDNN_STATUS_SUCCESS ? std::optional(one) : std::nullopt;
    if (status == CUDNN_STATUS_SUCCESS) status = ask();
    if (status == CUDNN_STATUS_SUCCESS) return {};
    return base::fail(refused(library, status, "a convolution that it reported as supported"));
  }
};

template <class Algorithm>
struct Choice {
  Algorithm algorithm;
  std::size_t bytes;
};

// True if the algorithm multiplies its inputs and sums the products. Other algorithms (Winograd,
// FFT) transform the inputs first and therefore round differently.
bool is_direct_sum(cudnnConvolutionFwdAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ||
         algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
}
bool is_direct_sum(cudnnConvolutionBwdDataAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
}
bool is_direct_sum(cudnnConvolutionBwdFilterAlgo_t algorithm) {
  return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 ||
         algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3;
}

class CudnnConvolutions final : public Convolutions {
 public:
  CudnnConvolutions(std::shared_ptr<CudnnHandle> started, const Allocate& allocate)
      : started_(std::move(started)), allocate_(allocate) {}

  std::string name() const override { return started_->library.name(); }

  Result<std::optional<Work>> convolution(const Convolution& op) override {
    const Library& library = started_->library;
    const auto described = describe(library, op);
    if (!described) return std::nullopt;
    const auto& [input, output, bias, weight, window, activation] = *described;
    switch (op.target) {
      case Convolution::Target::input_gradient:
        return alone<cudnnConvolutionBwdDataAlgoPerf_t>(library.backward_input, weight, output,
                                                        window, input, op.input.bytes());
      case Convolution::Target::weight_gradient:
        return alone<cudnnConvolutionBwdFilterAlgoPerf_t>(library.backward_weight, input, output,
                                                          window, weight, op.weight.bytes());
      default: break;
    }
    if (op.activation == Activation::tanh || (op.bias.empty() && op.activation != Activation::none))
      return std::nullopt;
    if (op.bias.empty())
      return alone<cudnnConvolutionFwdAlgoPerf_t>(library.forward, input, weight, window, output,
                                                  op.output.bytes());
    return with_bias(*described, op);
  }

 private:
  // Returns the algorithm that cuDNN expects to be fastest, among those that are deterministic and
  // need no more workspace than allowed.
  template <class Found, class OneDirection, class May, class... Descriptors>
  auto choose(const OneDirection& direction, May may, Descriptors... descriptors)
      -> std::optional<Choice<decltype(Found::algo)>> {
    const std::scoped_lock lock(started_->mutex);
    std::array<Found, kMaxAlgorithms> all{};
    int count = 0;
    if (direction.ask(started_->handle, descriptors..., kMaxAlgorithms, &count, all.data()) !=
        CUDNN_STATUS_SUCCESS)
      return std::nullopt;
    for (const Found& found : std::span(all).first(static_cast<std::size_t>(count))) {
      std::size_t bytes = 0;
      if (found.status != CUDNN_STATUS_SUCCESS || found.determinism != CUDNN_DETERMINISTIC ||
          !may(found.algo))
        continue;
      if (direction.workspace_size(started_->handle, descriptors..., found.algo, &bytes) !=
              CUDNN_STATUS_SUCCESS ||
          bytes > kMaxWorkspaceBytes)
        continue;
      return Choice<decltype(Found::algo)>{found.algo, bytes};
    }
    return std::nullopt;
  }

  // Prepares a convolution without bias and activation: result = left * right. `direction` defines
  // which tensors these are.
  template <class Found, class OneDirection, class Left, class Right, class Made>
  Result<std::optional<Work>> alone(const OneDirection& direction,
                                    const DescribedTensor<Left>& left,
                                    const DescribedTensor<Right>& right,
                                    const std::shared_ptr<cudnnConvolutionStruct>& window,
                                    const DescribedTensor<Made>& made, std::int64_t made_bytes) {
    const auto choice = choose<Found>(
        direction, [](auto algorithm) { return is_direct_sum(algorithm); }, left.descriptor.get(),
        right.descriptor.get(), window.get(), made.descriptor.get());
    if (!choice) return std::nullopt;
    const auto make = [=, started = started_, direction = direction.make](
                          void* stream, std::byte* workspace, std::byte* output) {
      return started->on(stream, [&] {
        return direction(started->handle, &kOne, left.descriptor.get(), left.data,
                         right.descriptor.get(), right.data, window.get(), choice->algorithm,
                         workspace, choice->bytes, &kZero, made.descriptor.get(), output);
      });
    };
    return tried(make, choice->bytes, made.data, made_bytes);
  }

  // Prepares a forward convolution with bias. According to cuDNN's reference, only one algorithm
  // supports CUDNN_ACTIVATION_IDENTITY.
  Result<std::optional<Work>> with_bias(const Description& d, const Convolution& op) {
    const auto may = [&](cudnnConvolutionFwdAlgo_t algorithm) {
      return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
             (op.activation == Activation::relu && is_direct_sum(algorithm));
    };
    const auto choice = choose<cudnnConvolutionFwdAlgoPerf_t>(
        started_->library.forward, may, d.input.descriptor.get(), d.weight.descriptor.get(),
        d.window.get(), d.output.descriptor.get());
    if (!choice) return std::nullopt;
    const auto make = [d, choice = *choice, started = started_](void* stream, std::byte* workspace,
                                                                std::byte* output) {
      return started->on(
          // cuDNN also adds a tensor z to the result. Here z is the output, multiplied by 0.
          stream, [&] {
            return started->library.forward_with_bias(
                started->handle, &kOne, d.input.descriptor.get(), d.input.data,
                d.weight.descriptor.get(), d.weight.data, d.window.get(), choice.algorithm,
                workspace, choice.bytes, &kZero, d.output.descriptor.get(), output,
                d.bias.descriptor.get(), d.bias.data, d.activation.get(), d.output.descriptor.get(),
                output);
          });
    };
    return tried(make, choice->bytes, d.output.data, op.output.bytes());
  }

  // Returns the work that calls make(stream, workspace, output), if cuDNN supports it. cuDNN does
  // not report in advance whether an algorithm supports a fused convolution. So it is tried once,
  // in private memory, because a queue may be using the shared workspace.
  template <class Make>
  Result<std::optional<Work>> tried(const Make& make, std::size_t workspace_bytes,
                                    std::byte* output, std::int64_t output_bytes) {
    {
      const auto made = allocate_(output_bytes),
                 workspace = allocate_(static_cast<std::int64_t>(workspace_bytes));
      if (!made) return base::fail(made.error());
      if (!workspace) return base::fail(workspace.error());
      if (!make(nullptr, workspace->get(), made->get())) return std::nullopt;
    }
    auto workspace = workspace_size(workspace_bytes);
    if (!workspace) return base::fail(workspace.error());
    return Work([make, workspace = *workspace, output](void* stream) {
      return make(stream, workspace.get(), output);
    });
  }

  // Returns a workspace of at least `bytes` bytes. Work that was prepared earlier keeps its smaller
  // workspace; doubling bounds the total size.
  Result<Memory> workspace_size(std::size_t bytes) {
    const std::scoped_lock lock(started_->mutex);
    if (bytes <= workspace_bytes_) return workspace_;
    const std::size_t grown = std::bit_ceil(bytes);
    auto memory = allocate_(static_cast<std::int64_t>(grown));
    if (!memory) return memory;
    workspace_bytes_ = grown;
    return workspace_ = std::move(*memory);
  }

  std::shared_ptr<CudnnHandle> started_;
  Allocate allocate_;
  Memory workspace_;
  std::size_t workspace_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<Convolutions>> open(const Allocate& allocate, const std::string& file) {
  auto library = open_library(file);
  if (!library) return base::fail(library.error());
  auto started = std::make_shared<CudnnHandle>();
  started->library = *library;
  if (const cudnnStatus_t status = library->start(&started->handle); status != CUDNN_STATUS_SUCCESS)
    return base::fail(
        {"cudnn_unavailable", ProblemCode::unavailable, "cuda",
         library->name() + " cannot be initialized (" + library->error_string(status) + ")", "",
         ""});
  return std::make_unique<CudnnConvolutions>(std::move(started), allocate);
}

}  // namespace trainyard::cuda::cudnn
