// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <utility>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda {

// Queue whose ops run on a stream of the device.
class StreamQueue : public compute::Queue {
 public:
  virtual Stream& stream() = 0;
};

// Kernel that enqueues prepared work on the stream of a StreamQueue.
class StreamKernel final : public compute::Kernel {
 public:
  explicit StreamKernel(Run work) : run_(std::move(work)) {}
  void enqueue(compute::Queue& queue) override { run_(static_cast<StreamQueue&>(queue).stream()); }

 private:
  Run run_;
};

// Prepares the kernel of an op, for StreamQueues. Problems: those of compute::validate, not enough
// device memory, or an op that the device does not support.
base::Result<std::unique_ptr<compute::Kernel>> prepare(Device& device, const compute::Op& op);

// Implements Compute::sum. Sources and destination are in device memory, at any address. One kernel
// adds up to kMaxSources sources. The destination must not be one of the later sources.
inline constexpr std::size_t kMaxSources = 128;
void sum(Stream& stream, compute::DType dtype, std::byte* destination,
         std::span<const std::byte* const> sources, std::int64_t elements);

// Implements Compute::load_bytes for bytes that the device can access. The tensor must have a
// floating-point dtype.
void decode(Stream& stream, const compute::Tensor& to, const std::uint8_t* bytes,
            const float* value_of);

}  // namespace trainyard::cuda
