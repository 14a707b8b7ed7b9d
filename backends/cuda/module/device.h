// SPDX-License-Identifier: GPL-3.0-or-later
// What kernels ask of the device beside running them: memory that is theirs alone, and what
// libraries do better, products of matrices and sorting. On a GPU this is CUDA, cuBLASLt and CUB
// (gpu.h); tests have one that is this process.
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

// Work that was prepared: enqueues it, and allocates nothing.
using Run = std::function<void(Stream&)>;

using compute::Memory;

// result [m,n] = activation(left right + bias), plus `result` as it was where it accumulates; all
// row by row. left is [m,k], or transposed [k,m]; right [k,n], or transposed [n,k]. `bias` [n], of
// the result's dtype, or empty. m, n and k are 1 at least. Factors of 16 bits are multiplied
// exactly and summed in fp32.
struct Product {
  compute::Tensor left, right, bias, result;
  std::int64_t m = 1, n = 1, k = 1;
  bool left_transposed = false, right_transposed = false, accumulates = false;
  bool tf32 = false;  // of fp32: factors as tensor cores take them
  compute::Activation activation = compute::Activation::none;
};

// What ops share to work in, as they come one after the other: none finds there what it left.
enum class Room : std::uint8_t { left, right, result };

class Device {
 public:
  virtual ~Device() = default;
  // Where there is no room for it, the problem says what kernels have.
  base::Result<Memory> allocate(std::int64_t bytes) { return counted(take(bytes), bytes); }
  base::Result<Memory> allocate_zeros(std::int64_t bytes) {
    return counted(take_zeros(bytes), bytes);
  }
  base::Result<Memory> room(Room which, std::int64_t bytes) {
    auto& [memory, size] = rooms_[static_cast<std::size_t>(which)];
    if (size >= bytes) return memory;
    return allocate(bytes).map([&](const Memory& larger) { return size = bytes, memory = larger; });
  }
  virtual bool reaches(const std::byte* place) = 0;  // within kernels

  // Whether a product with such a bias or activation is one piece of work; else these are added
  // afterwards.
  virtual bool fuses(compute::DType result, compute::Activation activation) const = 0;
  virtual base::Result<Run> product(const Product& product) = 0;
  // A convolution by what the device has for them. Nothing: it has nothing for this one, and
  // products must do.
  virtual base::Result<std::optional<Run>> convolution(const Convolution&) { return std::nullopt; }

  // Of keys [0, below]: places[0, count) become the numbers 0 to count - 1 in the order of their
  // keys, of equal ones the lower first; the keys stay.
  virtual base::Result<Run> order(const std::int32_t* keys, std::int32_t* places,
                                  std::int64_t count, std::int32_t below) = 0;

 private:
  virtual base::Result<Memory> take(std::int64_t bytes) = 0;
  virtual base::Result<Memory> take_zeros(std::int64_t bytes) = 0;
  base::Result<Memory> counted(const base::Result<Memory>& memory, std::int64_t bytes) {
    if (!memory)
      return memory.map_error([&](base::Problem problem) {
        if (*taken_ > 0)
          problem.what +=
              "; kernels have " + base::format_bytes(static_cast<double>(*taken_)) + " to work in";
        return problem;
      });
    *taken_ += bytes;
    return Memory(memory->get(),
                  [owned = *memory, taken = taken_, bytes](std::byte*) { *taken -= bytes; });
  }

  std::shared_ptr<std::atomic<std::int64_t>> taken_ =
      std::make_shared<std::atomic<std::int64_t>>(0);  // bytes of what is there still
  std::array<std::pair<Memory, std::int64_t>, 3>
      rooms_;  // and their bytes, as many as anybody asked for
};

}  // namespace trainyard::cuda
