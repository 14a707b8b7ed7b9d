// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/kernels.h"

namespace trainyard::cpu {
namespace {

template <class T>
const Kernels<T>& choose() {
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vl");
  if (v3 && v4) return kernels_v4<T>();
  return v3 ? kernels_v3<T>() : kernels_v1<T>();
}

}  // namespace

template <>
const Kernels<float>& kernels() {
  static const Kernels<float>& best = choose<float>();
  return best;
}

template <>
const Kernels<double>& kernels() {
  static const Kernels<double>& best = choose<double>();
  return best;
}

}  // namespace trainyard::cpu
