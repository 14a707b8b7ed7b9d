// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <array>

#include "backends/cuda/module/prepare.h"

namespace trainyard::cuda::module {

// A stream, and an event for each of the last marks. A mark whose event was taken again is waited for.
class GpuQueue final : public StreamQueue {
 public:
  static base::Result<std::unique_ptr<GpuQueue>> make(int gpu);
  ~GpuQueue() override;

  Stream& stream() override { return stream_; }
  std::uint64_t record() override;
  bool reached(std::uint64_t mark) override;
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override;
  base::Result<void> state() override;

 private:
  static constexpr std::size_t kEvents = 64;
  explicit GpuQueue(int gpu) : gpu_(gpu) {}
  cudaEvent_t& event(std::uint64_t mark) { return events_[mark % kEvents]; }
  void note(cudaError_t error);

  int gpu_;
  Stream stream_;
  std::array<cudaEvent_t, kEvents> events_{};
  std::uint64_t marks_ = 0, reached_ = 0;
  cudaError_t error_ = cudaSuccess;  // the first
};

}  // namespace trainyard::cuda::module
