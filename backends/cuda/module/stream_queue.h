// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <span>

#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda::module {

// A stream, and an event for each of the last marks: its own, or one of a graph. A mark whose place is taken again is waited for.
class GpuQueue final : public StreamQueue {
 public:
  static base::Result<std::unique_ptr<GpuQueue>> make(int gpu);
  ~GpuQueue() override;

  Stream& stream() override { return stream_; }
  std::uint64_t record() override;
  bool reached(std::uint64_t mark) override;
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override;
  base::Result<void> state() override;

  // A graph that records these events, one after the other, each at a mark of its own: the first one is returned. At most half as many as there are places.
  std::uint64_t launch(cudaGraphExec_t graph, std::span<const cudaEvent_t> events);

 private:
  static constexpr std::size_t kEvents = 128;
  explicit GpuQueue(int gpu) : gpu_(gpu) {}
  cudaEvent_t& event(std::uint64_t mark) { return at_[mark % kEvents]; }
  void next_mark(cudaEvent_t event);
  void note(cudaError_t error);

  int gpu_;
  Stream stream_;
  std::array<cudaEvent_t, kEvents> events_{}, at_{};  // its own, and where each of the last marks is
  std::uint64_t marks_ = 0, reached_ = 0;
  cudaError_t error_ = cudaSuccess;  // the first
};

}  // namespace trainyard::cuda::module
