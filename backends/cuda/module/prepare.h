// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <span>
#include <utility>

#include "backends/cuda/module/device.h"

namespace trainyard::cuda {

// A queue that has a stream of the device.
class StreamQueue : public compute::Queue {
 public:
  virtual Stream& stream() = 0;
};

// Work on such a queue.
class StreamKernel final : public compute::Kernel {
 public:
  explicit StreamKernel(Run work) : run_(std::move(work)) {}
  void enqueue(compute::Queue& queue) override { run_(static_cast<StreamQueue&>(queue).stream()); }

 private:
  Run run_;
};

// The kernel of an op, for queues that are StreamQueues. Problems: as compute::validate says,
// memory of the device that there is not, what the device cannot do.
base::Result<std::unique_ptr<compute::Kernel>> prepare(Device& device, const compute::Op& op);

// Compute::sum. Sources and destination are memory of the device, at any address; the destination
// is none of the sources after the first kMostSources, which are as many as one kernel adds.
inline constexpr std::size_t kMostSources = 128;
void sum(Stream& stream, compute::DType dtype, std::byte* destination,
         std::span<const std::byte* const> sources, std::int64_t elements);

// Compute::load_bytes, of what the device reaches. The tensor is of floating numbers.
void decode(Stream& stream, const compute::Tensor& to, const std::uint8_t* bytes,
            const float* value_of);

}  // namespace trainyard::cuda
