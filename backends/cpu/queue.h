// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cstdlib>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>

#include "core/compute/immediate_queue.h"

namespace trainyard::cpu {

// Reusable scratch memory. All callers get the same memory, so its contents are valid only until
// the next call of `reserve`.
class ScratchBlock {
 public:
  // Returns at least `bytes` bytes, valid until the next call. Allocates memory only if a call
  // requests more than every earlier call.
  std::byte* reserve(std::size_t bytes) {
    if (bytes > capacity_) {
      capacity_ = (bytes + kPage - 1) / kPage * kPage;
      memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPage, capacity_)));
    }
    return memory_.get();
  }

  std::size_t bytes() const { return capacity_; }

 private:
  static constexpr std::size_t kPage = 4096;
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
};

// Queue with scratch memory. Its ops run one after another, so all ops of a lane share one block of
// scratch memory, which stays in cache, and one block of rounded inputs.
class CpuQueue final : public compute::ImmediateQueue {
 public:
  explicit CpuQueue(const dnnl::engine& engine) : stream_(engine) {}

  dnnl_stream_t stream() const { return stream_.get(); }
  std::byte* scratch(std::size_t bytes) { return scratch_.reserve(bytes); }
  std::size_t scratch_bytes() const {
    return scratch_.bytes() + factors_.bytes();
  }  // largest size that any op has requested
  std::byte* factors(std::size_t bytes) { return factors_.reserve(bytes); }

 private:
  dnnl::stream stream_;
  ScratchBlock scratch_, factors_;
};

}  // namespace trainyard::cpu
