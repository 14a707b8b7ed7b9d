// SPDX-License-Identifier: GPL-3.0-or-later
// Products under Multiplies::bfloat16: their factors are rounded to copies, and fp32 primitives
// multiply these. The product of two bfloat16 numbers is exact in fp32, so that is what a unit for
// bfloat16 computes, up to the order of sums. oneDNN's own bf16 and its `fpmath_mode` are of no use
// here: both need a CPU that has bfloat16, the latter is only a permission, and whether it was used
// shows nowhere.
#pragma once

#include <utility>
#include <vector>

#include "backends/cpu/queue.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// The factors of one op; under all else there is nothing to do.
class Factors {
 public:
  Factors(compute::Multiplies multiplies, int cores)
      : rounds_(multiplies == compute::Multiplies::bfloat16), cores_(cores) {}

  // A primitive finds the factor `source` in `memory`: from now on the rounded copy, of the same
  // plain layout.
  void add(const compute::Tensor& source, const dnnl::memory& memory);

  // Before the primitives that read them. Allocates as a queue does: only when more is asked for
  // than ever before.
  void round(CpuQueue& queue);

  bool rounds() const { return rounds_; }

 private:
  bool rounds_;
  int cores_;
  std::size_t bytes_ = 0;
  std::vector<std::pair<compute::Tensor, dnnl::memory>> factors_;
};

}  // namespace trainyard::cpu
