// SPDX-License-Identifier: GPL-3.0-or-later
// How work goes to a device, so that each kernel is written once: nvcc makes it one of the GPU, any
// other compiler a loop, which is how tests run the very same kernels where there is no GPU
// (tests/backends/cuda/host). The body of a kernel is a lambda marked ON_DEVICE that captures by
// value.
//
//   for_each(stream, count, body)              body(i) of every i in [0, count), in any order
//   for_teams(stream, count, bytes, body)      body(team, i), each by a team of threads that share `bytes` of fast memory
//   for_teams<threads>(...)                    the same, where teams of a GPU are best of so many threads, a multiple of 32
//   clear(stream, memory, bytes)               zeros
//
// The host never calls what is ON_DEVICE alone: nvcc makes that a call of exit(), without a word,
// and where the device is this process it works (tests/backends/cuda/calls_test.sh looks for it).
//
// All threads of a team run the same body. Work is shared out among them by loops from `rank` on in
// strides of `size`, whatever the size is.
#pragma once

#if defined(__CUDACC__)
#include "backends/cuda/module/launch_gpu.h"
#else
#include "backends/cuda/module/launch_host.h"
#endif

namespace trainyard::cuda {

// The team's fast memory, as numbers.
template <class T>
ON_DEVICE T* shared(const Team& team) {
  return reinterpret_cast<T*>(team.memory);
}

}  // namespace trainyard::cuda
