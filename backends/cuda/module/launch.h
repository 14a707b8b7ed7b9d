// SPDX-License-Identifier: GPL-3.0-or-later
// Kernel launches with which each kernel is written only once. nvcc compiles a kernel for the GPU;
// any other compiler makes it a loop, so that tests run the same kernels without a GPU
// (tests/backends/cuda/host). The body of a kernel is a lambda marked ON_DEVICE that captures by
// value. A team is a thread block on the GPU, and one or several threads on the host.
//
//   for_each(stream, count, body)          body(i) for every i in [0, count), in any order
//   for_teams(stream, count, bytes, body)  body(team, i), each run by a team of threads
//                                          that share `bytes` of shared memory
//   for_teams<threads>(...)                the same with teams of `threads` threads on a
//                                          GPU, a multiple of 32
//   clear(stream, memory, bytes)           fills memory with zeros
//
// The host must never call functions marked only ON_DEVICE. nvcc silently compiles such a call to
// exit(). In tests, where the device is this process, the call would work
// (tests/backends/cuda/calls_test.sh checks for such calls).
//
// All threads of a team run the same body. They divide work by loops that begin at `rank` and have
// stride `size`, for any team size.
#pragma once

#if defined(__CUDACC__)
#include "backends/cuda/module/launch_gpu.h"
#else
#include "backends/cuda/module/launch_host.h"
#endif

namespace trainyard::cuda {

// Returns the team's shared memory as an array of T.
template <class T>
ON_DEVICE T* shared(const Team& team) {
  return reinterpret_cast<T*>(team.memory);
}

}  // namespace trainyard::cuda
