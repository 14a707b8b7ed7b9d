// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <span>

#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda::module {

// The first thing that went wrong, whichever thread notes it.
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

// A stream, and an event for each of the last marks: its own, or one that a graph records. A mark
// whose place is taken again is waited for.
class GpuQueue final : public StreamQueue {
 public:
  // `beside`: what went wrong with what its rank asked of the GPU beside queues, as copies; may be
  // null.
  static base::Result<std::unique_ptr<GpuQueue>> make(
      int gpu, std::shared_ptr<const FirstError> beside = nullptr);
  // One that could not be made: its state says why, and nothing is waited for.
  static std::unique_ptr<GpuQueue> broken(int gpu, base::Problem why);
  ~GpuQueue() override;

  Stream& stream() override;
  std::uint64_t record() override;
  bool reached(std::uint64_t mark) override;
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override;
  base::Result<void> state() override;

  // A graph that records these events, one after the other, each at a mark of its own, and one mark
  // more at its end. The first one is returned; all of them are at most half as many as there are
  // places.
  std::uint64_t launch(cudaGraphExec_t graph, std::span<const cudaEvent_t> events);

 private:
  static constexpr std::size_t kEvents = 128;

  // The event of a mark. That of a graph may still be as the launch before left it: it counts from
  // when it is later than the mark before the graph.
  struct Place {
    cudaEvent_t event = nullptr;
    std::uint64_t
        before = 0,
        end = 0;  // marks before the graph and at its end; both 0: the event is the queue's own
  };

  explicit GpuQueue(int gpu) : gpu_(gpu) {}
  Place& place(std::uint64_t mark) { return at_[mark % kEvents]; }
  bool is_broken() const { return stream_.handle == nullptr; }
  void next_mark(const Place& place);
  cudaEvent_t next_own();
  bool is_of_this_launch(const Place& of_graph);

  int gpu_;
  std::shared_ptr<const FirstError> beside_;
  Stream stream_;
  std::array<cudaEvent_t, kEvents> events_{};  // its own
  std::array<Place, kEvents> at_{};            // of the last marks
  std::uint64_t marks_ = 0, reached_ = 0;
  FirstError error_;
};

}  // namespace trainyard::cuda::module
