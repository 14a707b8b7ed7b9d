// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/cuda/module/graph_chain.h"
#include "backends/cuda/module/stream_queue.h"

namespace trainyard::cuda::module {
namespace {

class GraphChain final : public compute::Chain {
 public:
  GraphChain(int gpu, std::vector<std::vector<compute::Kernel*>> ops)
      : gpu_(gpu), ops_(std::move(ops)) {}
  ~GraphChain() override {
    if (graph_ != nullptr) cudaGraphExecDestroy(graph_);
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  GraphChain(const GraphChain&) = delete;
  GraphChain& operator=(const GraphChain&) = delete;

  std::uint64_t enqueue(compute::Queue& queue) override {
    auto& stream = static_cast<GpuQueue&>(queue);
    if (tries_ == CaptureState::second) capture(stream.stream());
    if (tries_ != CaptureState::over)
      tries_ = tries_ == CaptureState::first ? CaptureState::second : CaptureState::over;
    return graph_ != nullptr ? stream.launch(graph_, events_) : enqueue_uncaptured(stream);
  }

 private:
  enum class CaptureState : std::uint8_t { first, second, over };

  std::uint64_t enqueue_uncaptured(GpuQueue& queue) {
    std::uint64_t last = 0;
    for (const auto& op : ops_) {
      for (compute::Kernel* const kernel : op) kernel->enqueue(queue);
      last = queue.record();
    }
    return last + 1 - ops_.size();
  }

  // Captures the ops. The graph records an event after each op except the last one; a queue does
  // the same between ops.
  void capture(Stream& stream) {
    cudaSetDevice(gpu_);
    cudaGraph_t captured = nullptr;
    if (stream.handle == nullptr) return;
    bool fine =
        make_events() &&
        cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    if (!fine) return forget_error();
    const auto refused_before = std::exchange(stream.refused, std::nullopt);
    CapturingQueue queue(stream);
    for (std::size_t i = 0; i < ops_.size(); ++i) {
      for (compute::Kernel* const kernel : ops_[i]) kernel->enqueue(queue);
      if (i < events_.size())
        fine = cudaEventRecordWithFlags(events_[i], stream.handle, cudaEventRecordExternal) ==
                   cudaSuccess &&
               fine;
    }
    fine = cudaStreamEndCapture(stream.handle, &captured) == cudaSuccess && fine;
    fine = cudaGetLastError() == cudaSuccess && !stream.refused &&
           fine;  // After an error, a kernel may be missing in the graph.
    stream.refused = refused_before;
    if (fine && cudaGraphInstantiateWithFlags(&graph_, captured, 0) != cudaSuccess)
      graph_ = nullptr;
    if (captured != nullptr) cudaGraphDestroy(captured);
    if (graph_ == nullptr || cudaGraphUpload(graph_, stream.handle) != cudaSuccess) forget_error();
  }

  bool make_events() {
    while (events_.size() + 1 < ops_.size()) {
      cudaEvent_t event = nullptr;
      if (cudaEventCreate(&event) != cudaSuccess) return false;
      events_.push_back(event);
    }
    return true;
  }

  // Clears CUDA's error of a failed capture, which the next launch would otherwise report.
  static void forget_error() { cudaGetLastError(); }

  // Queue used during the capture of a CUDA graph. It passes the stream under capture to kernels.
  class CapturingQueue final : public StreamQueue {
   public:
    explicit CapturingQueue(Stream& stream) : stream_(stream) {}
    Stream& stream() override { return stream_; }
    std::uint64_t record() override { return 0; }
    bool reached(std::uint64_t) override { return true; }

   private:
    Stream& stream_;
  };

  int gpu_;
  std::vector<std::vector<compute::Kernel*>> ops_;
  CaptureState tries_ = CaptureState::first;
  cudaGraphExec_t graph_ = nullptr;
  std::vector<cudaEvent_t> events_;  // by op; the queue records its own event after the last op
};

// True if CUDA_LAUNCH_BLOCKING is set. Kernels are then launched one by one, so that the user can
// see which one fails.
bool launches_block() {
  const char* const asked = std::getenv("CUDA_LAUNCH_BLOCKING");
  return asked != nullptr && std::string_view(asked) != "0";
}

}  // namespace

std::unique_ptr<compute::Chain> make_graph_chain(int gpu,
                                                 std::vector<std::vector<compute::Kernel*>> ops) {
  if (launches_block()) return nullptr;
  return std::make_unique<GraphChain>(gpu, std::move(ops));
}

}  // namespace trainyard::cuda::module
