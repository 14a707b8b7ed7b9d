// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of 16 bits on the CPU (see core/compute/half_precision.h).
#pragma once

#include <memory>
#include <vector>

#include "core/compute/half_precision.h"

namespace trainyard::cpu {

// True if this CPU multiplies bfloat16 natively (AVX512-BF16 or AMX). On other CPUs, bf16 in oneDNN
// is slower than fp32, so ops on bf16 tensors compute in fp32.
bool multiplies_bfloat16();

// These functions convert as compute::widen and compute::round do, with up to `cores` threads.
void widen(compute::DType from, const std::byte* halves, float* values, std::int64_t elements,
           int cores);
void round(compute::DType to, const float* values, std::byte* halves, std::int64_t elements,
           int cores);

// An op on 16-bit tensors, prepared for one slice of rows. It computes on fp32 copies of the slice.
struct HalfSlice {
  std::unique_ptr<compute::Kernel> kernel;  // null if there are no rows
  std::vector<compute::Passing> passing;
};

class WideningScratch;
// Returns a kernel that runs `each` on `count` equal slices of rows, then `rest` on the last rows.
std::unique_ptr<compute::Kernel> in_slices(HalfSlice each, std::int64_t count, HalfSlice rest,
                                           int cores, std::shared_ptr<WideningScratch> memory);

// Scratch memory for fp32 copies. All ops of a device share it, because the ops run one after
// another.
class WideningScratch {
 public:
  // Returns scratch buffer number `number`, with at least `elements` elements. All ops share the
  // buffer. Pointers from earlier calls stay valid.
  float* scratch_floats(std::size_t number, std::int64_t elements);

 private:
  struct Block {
    std::int64_t elements = 0;
    std::unique_ptr<float[]> memory;
  };
  // Memory blocks of each buffer, by buffer number. Each block of a buffer is larger than the
  // previous one.
  std::vector<std::vector<Block>> blocks_;
};

}  // namespace trainyard::cpu
