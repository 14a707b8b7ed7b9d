// SPDX-License-Identifier: GPL-3.0-or-later
// Matrix multiplications with Multiplies::bfloat16. The inputs are rounded to copies, which fp32
// primitives then multiply. The product of two bfloat16 numbers is exact in fp32, so the result
// equals that of a bfloat16 unit, up to the order of sums. oneDNN's own bf16 and its `fpmath_mode`
// cannot be used: both need a CPU with bfloat16, and `fpmath_mode` only permits rounding, without a
// way to tell whether it happened.
#pragma once

#include <utility>
#include <vector>

#include "backends/cpu/queue.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// Copies of the inputs (factors) of a matrix multiplication, rounded to bfloat16. Does nothing
// unless `multiplies` is Multiplies::bfloat16.
class Factors {
 public:
  Factors(compute::Multiplies multiplies, int cores)
      : rounds_(multiplies == compute::Multiplies::bfloat16), cores_(cores) {}

  // Adds an input to round. `memory` initially refers to `source`; it then refers to a rounded copy
  // of `source` in the same plain layout.
  void add(const compute::Tensor& source, const dnnl::memory& memory);

  // Rounds all inputs. Call it before the primitives that read them. Allocates memory only if a
  // call needs more than every earlier call.
  void round(CpuQueue& queue);

  bool rounds() const { return rounds_; }

 private:
  bool rounds_;
  int cores_;
  std::size_t bytes_ = 0;
  std::vector<std::pair<compute::Tensor, dnnl::memory>> factors_;
};

}  // namespace trainyard::cpu
