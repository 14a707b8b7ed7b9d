// SPDX-License-Identifier: GPL-3.0-or-later
// The GPUs of this machine, for tests.
#pragma once

#include <vector>

#include "backends/cuda/cuda.h"

namespace trainyard::tests {

inline std::unique_ptr<compute::Compute> gpu(int number) {
  const auto module = cuda::module_beside_program();
  auto made = module ? (*module)->make_compute(number) : base::fail(module.error());
  if (!made) throw std::runtime_error(base::to_string(made.error()));
  return std::move(*made);
}

// Their numbers; none where there is no driver, or no GPU.
inline std::vector<int> gpu_numbers() {
  std::vector<int> all;
  if (const auto found = cuda::gpus())
    for (const cuda::Gpu& one : *found) all.push_back(one.number);
  return all;
}

}  // namespace trainyard::tests
