// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/kernels.h"

namespace trainyard::cpu {
namespace {

// Returns the table of loops for the newest x86-64 level that this CPU supports.
template <class Table>
const Table& choose(const Table& (*v1)(), const Table& (*v3)(), const Table& (*v4)()) {
  const bool has_v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("bmi2");
  const bool has_v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512vl");
  if (has_v3 && has_v4) return v4();
  return has_v3 ? v3() : v1();
}

}  // namespace

template <>
const Kernels<float>& kernels() {
  static const Kernels<float>& best =
      choose(kernels_v1<float>, kernels_v3<float>, kernels_v4<float>);
  return best;
}

template <>
const Kernels<double>& kernels() {
  static const Kernels<double>& best =
      choose(kernels_v1<double>, kernels_v3<double>, kernels_v4<double>);
  return best;
}

const HalfKernels& half_kernels() {
  static const HalfKernels& best = choose(half_kernels_v1, half_kernels_v3, half_kernels_v4);
  return best;
}

}  // namespace trainyard::cpu
