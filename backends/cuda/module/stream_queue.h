// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <span>

#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda::module {

// First CUDA error that any thread noted.
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

// Queue of a stream. Each of the last kEvents marks has an event: one of the queue, or one that a
// graph records. Reusing the event of an old mark waits for that mark.
class GpuQueue final : public StreamQueue {
 public:
  // Creates a queue. `beside` has the errors of the rank's GPU work outside queues, such as copies;
  // it may be null.
  static base::Result<std::unique_ptr<GpuQueue>> make(
      int gpu, std::shared_ptr<const FirstError> beside = nullptr);
  // Returns a queue that failed to start: state() returns `why`, and no call waits.
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

  // CUDA event of a mark. An event of a graph may still have the time of the graph's previous
  // launch. It counts only if its time is after the mark before the graph.
  struct MarkEvent {
    cudaEvent_t event = nullptr;
    // Marks before the graph and at its end; both are 0 for an event of the queue.
    std::uint64_t before = 0, end = 0;
  };

  explicit GpuQueue(int gpu) : gpu_(gpu) {}
  MarkEvent& place(std::uint64_t mark) { return at_[mark % kEvents]; }
  bool is_broken() const { return stream_.handle == nullptr; }
  void next_mark(const MarkEvent& place);
  cudaEvent_t next_event();
  bool is_of_this_launch(const MarkEvent& of_graph);

  int gpu_;
  std::shared_ptr<const FirstError> beside_;
  Stream stream_;
  std::array<cudaEvent_t, kEvents> events_{};  // events of the queue
  std::array<MarkEvent, kEvents> at_{};        // places of the last kEvents marks
  std::uint64_t marks_ = 0, reached_ = 0;
  FirstError error_;
};

}  // namespace trainyard::cuda::module
