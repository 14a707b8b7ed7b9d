// SPDX-License-Identifier: GPL-3.0-or-later
// Tensors of 16 bits (core/compute/halves.h) on the cpu.
#pragma once

#include <memory>
#include <vector>

#include "core/compute/halves.h"

namespace trainyard::cpu {

// Whether this CPU has products of bfloat16 (AVX512-BF16 or AMX). On others oneDNN's own are slower
// than fp32, which then takes their place.
bool multiplies_bfloat16();

// As compute::widen and compute::round, with so many threads.
void widen(compute::DType from, const std::byte* halves, float* values, std::int64_t elements,
           int cores);
void round(compute::DType to, const float* values, std::byte* halves, std::int64_t elements,
           int cores);

// An op on fp32 copies of as many rows as are taken at a time.
struct HalvesPart {
  std::unique_ptr<compute::Kernel> kernel;  // null: nothing is left
  std::vector<compute::Passing> passing;
};

class Widened;
// `each` for so many slices in a row, then `rest`.
std::unique_ptr<compute::Kernel> in_slices(HalvesPart each, std::int64_t count, HalvesPart rest,
                                           int cores, std::shared_ptr<Widened> memory);

// Memory for fp32 copies, which all ops of a device share, as they run one after another.
class Widened {
 public:
  // The `number`-th of an op, and of all others. What was lent stays where it is.
  float* lend(std::size_t number, std::int64_t elements);

 private:
  struct Block {
    std::int64_t elements = 0;
    std::unique_ptr<float[]> memory;
  };
  std::vector<std::vector<Block>> blocks_;  // by number, each larger than the one before
};

}  // namespace trainyard::cpu
