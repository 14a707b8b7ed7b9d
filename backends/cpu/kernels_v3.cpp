// SPDX-License-Identifier: GPL-3.0-or-later
// Compiled for x86-64-v3.
#include "backends/cpu/kernels_table.h"

namespace trainyard::cpu {

template <>
const Kernels<float>& kernels_v3() {
  return kTable<float>;
}

template <>
const Kernels<double>& kernels_v3() {
  return kTable<double>;
}

const HalfKernels& half_kernels_v3() { return kHalfTable; }

}  // namespace trainyard::cpu
