// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <span>

#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda::module {

// First CUDA error noted by any thread.
class FirstError {
 public:
  void note(cudaError_t error) {
    cudaError_t none = cudaSuccess;
    if (error != cudaSuccess) first_.compare_exchange_strong(none, error);
  }
  cudaError_t get() const { return first_.load(); }

 private:
  std::atomic<cudaError_t> first_ = cudaSuccess;
};

// Stream with an event for each of the last kEvents marks: an event of the queue or one that a
// graph records. Reusing the event of an old mark waits for that mark.
class GpuQueue final : public StreamQueue {
 public:
  // Creates a queue. `beside` holds errors of the rank's other GPU work outside queues, such as
  // copies; it may be null.
  static base::Result<std::unique_ptr<GpuQueue>> make(
      int gpu, std::shared_ptr<const FirstError> beside = nullptr);
  // Creates a queue that failed to start: state() returns `why`, and no call waits.
  static std::unique_ptr<GpuQueue> broken(int gpu, base::Problem why);
  ~GpuQueue() override;

  Stream& stream() override;
  std::uint64_t record() override;
  bool reached(std::uint64_t mark) override;
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override;
  base::Result<void> state() override;

  // Launches a graph that records `events` in order. Each event gets a mark, and one more mark
  // follows the graph. Returns the first mark. `events` must be at most kEvents / 2.
  std::uint64_t launch(cudaGraphExec_t graph, std::span<const cudaEvent_t> events);

 private:
  static constexpr std::size_t kEvents = 128;

  // Event of a mark. An event of a graph may still hold the time of the previous launch. It counts
  // only if it is later than the mark before the graph.
  struct Place {
    cudaEvent_t event = nullptr;
    std::uint64_t
        before = 0,
        end = 0;  // marks before and at the end of the graph; both 0 for an event of the queue
  };

  explicit GpuQueue(int gpu) : gpu_(gpu) {}
  Place& place(std::uint64_t mark) { return at_[mark % kEvents]; }
  bool is_broken() const { return stream_.handle == nullptr; }
  void next_mark(const Place& place);
  cudaEvent_t next_event();
  bool is_of_this_launch(const Place& of_graph);

  int gpu_;
  std::shared_ptr<const FirstError> beside_;
  Stream stream_;
  std::array<cudaEvent_t, kEvents> events_{};  // events of the queue
  std::array<Place, kEvents> at_{};            // of the last kEvents marks
  std::uint64_t marks_ = 0, reached_ = 0;
  FirstError error_;
};

}  // namespace trainyard::cuda::module
