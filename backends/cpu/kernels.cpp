// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/cpu/kernels.h"

#include "core/base/machine.h"

namespace trainyard::cpu {
namespace {

// Returns the table of loops for the x86-64 level of this CPU.
template <class Table>
const Table& choose(const Table& (*v1)(), const Table& (*v3)(), const Table& (*v4)()) {
  const int level = base::cpu_level();
  return level >= 4 ? v4() : level >= 3 ? v3() : v1();
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
