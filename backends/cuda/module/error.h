// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/base/result.h"

namespace trainyard::cuda {

// What CUDA said of what was asked of it: "cannot {what}: out of memory (cudaErrorMemoryAllocation)".
inline base::Problem problem_of(cudaError_t error, const std::string& what) {
  const auto code = error == cudaErrorMemoryAllocation ? base::ProblemCode::unavailable : base::ProblemCode::failed;
  return {code, "cuda", "cannot " + what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")", "", ""};
}

inline base::Result<void> check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return {};
  return base::fail(problem_of(error, what));
}

}  // namespace trainyard::cuda
