// SPDX-License-Identifier: GPL-3.0-or-later
// Services of a device that kernels need besides launches: private memory, and operations that
// libraries do better (matrix products and sorting). On a GPU these are CUDA, cuBLASLt and CUB
// (gpu.h). In tests the device is this process.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "backends/cuda/module/convolution.h"
#include "backends/cuda/module/launch.h"
#include "core/base/result.h"
#include "core/base/units.h"
#include "core/compute/compute.h"

namespace trainyard::cuda {

// Prepared work of an op. Calling it enqueues the work on a stream and allocates no memory.
using Run = std::function<void(Stream&)>;

// Returns the prepared work of an op that needs no memory besides its tensors.
template <class W, class OneOp>
Run run_of(const OneOp& op) {
  return [op](Stream& stream) { run<W>(stream, op); };
}

using compute::Memory;

// Matrix product result [m,n] = activation(left right + bias), row-major; adds to `result` if it
// accumulates. `left` is [m,k], or [k,m] if transposed; `right` is [k,n], or [n,k] if transposed.
// `bias` is [n] in the result's dtype, or empty. m, n and k are at least 1. Inputs of 16 bits are
// multiplied exactly and summed in fp32.
struct Product {
  compute::Tensor left, right, bias, result;
  std::int64_t m = 1, n = 1, k = 1;
  bool left_transposed = false, right_transposed = false, accumulates = false;
  bool tf32 = false;  // for fp32: rounds inputs to TF32 for tensor cores
  compute::Activation activation = compute::Activation::none;
};

// Scratch memory that all ops share, because they run one after another. An op must not expect
// contents of an earlier op.
enum class ScratchKind : std::uint8_t { left, right, result };

class Device {
 public:
  virtual ~Device() = default;
  // Allocates device memory. If there is not enough, the problem states how much memory kernels
  // hold.
  base::Result<Memory> allocate(std::int64_t bytes) { return counted(take(bytes), bytes); }
  base::Result<Memory> allocate_zeros(std::int64_t bytes) {
    return counted(take_zeros(bytes), bytes);
  }
  base::Result<Memory> scratch(ScratchKind which, std::int64_t bytes) {
    auto& [memory, size] = scratch_[static_cast<std::size_t>(which)];
    if (size >= bytes) return memory;
    return allocate(bytes).map([&](const Memory& larger) { return size = bytes, memory = larger; });
  }
  virtual bool reaches(const std::byte* place) = 0;  // true if kernels can access the address

  // True if a product with this activation is a single operation. Otherwise bias and activation are
  // applied afterwards.
  virtual bool fuses(compute::DType result, compute::Activation activation) const = 0;
  virtual base::Result<Run> product(const Product& product) = 0;
  // Prepares a convolution with a library of the device. Returns nullopt if the library does not
  // support it; the caller then uses matrix products.
  virtual base::Result<std::optional<Run>> convolution(const Convolution&) { return std::nullopt; }

  // Sorts the indices 0 to count - 1 by their keys, which are in [0, below). Writes the sorted
  // indices to places[0, count). The sort is stable, and does not change the keys.
  virtual base::Result<Run> order(const std::int32_t* keys, std::int32_t* places,
                                  std::int64_t count, std::int32_t below) = 0;

 private:
  virtual base::Result<Memory> take(std::int64_t bytes) = 0;
  virtual base::Result<Memory> take_zeros(std::int64_t bytes) = 0;
  base::Result<Memory> counted(const base::Result<Memory>& memory, std::int64_t bytes) {
    if (!memory)
      return memory.map_error([&](base::Problem problem) {
        if (*taken_ > 0)
          problem.what += "; kernels already use " +
                          base::format_bytes(static_cast<double>(*taken_)) + " of scratch memory";
        return problem;
      });
    *taken_ += bytes;
    return Memory(memory->get(),
                  [owned = *memory, taken = taken_, bytes](std::byte*) { *taken -= bytes; });
  }

  std::shared_ptr<std::atomic<std::int64_t>> taken_ =
      std::make_shared<std::atomic<std::int64_t>>(0);  // bytes still allocated
  std::array<std::pair<Memory, std::int64_t>, 3>
      scratch_;  // memory and size in bytes: the most that was requested so far
};

}  // namespace trainyard::cuda
