// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "core/base/result.h"

namespace trainyard::cuda {

// Returns advice to the user on how to find or remove the cause of a CUDA error.
inline std::string advice_on(cudaError_t error) {
  switch (error) {
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
      return "Set CUDA_LAUNCH_BLOCKING=1 in the environment and strategy.engine to own, and run "
             "again: the error then names the failed op.";
    case cudaErrorDevicesUnavailable:
      return "Another process may use the GPU exclusively: nvidia-smi lists processes; nvidia-smi "
             "-c DEFAULT allows several.";
    case cudaErrorSystemNotReady:
      return "The switches between the GPUs are not running: start nvidia-fabricmanager.";
    case cudaErrorSystemDriverMismatch:
      return "The loaded driver differs from the installed one: restart the machine.";
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
      return "The GPU may have failed: check nvidia-smi, and Xid messages in the system log "
             "(dmesg).";
    default: return "";
  }
}

// Builds the problem of a failed CUDA call, for example "cannot {what}: out of memory
// (cudaErrorMemoryAllocation)".
inline base::Problem problem_of(cudaError_t error, const std::string& what) {
  const auto code = error == cudaErrorMemoryAllocation ? base::ProblemCode::unavailable
                                                       : base::ProblemCode::failed;
  return {
      "cuda_failed",
      code,
      "cuda",
      "cannot " + what + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")",
      "",
      advice_on(error)};
}

inline base::Result<void> check(cudaError_t error, const std::string& what) {
  if (error == cudaSuccess) return {};
  return base::fail(problem_of(error, what));
}

}  // namespace trainyard::cuda
