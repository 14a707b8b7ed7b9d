// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of pointers to the loops, compiled for any x86-64 CPU.
#include "backends/cpu/kernels_table.h"

namespace trainyard::cpu {

template <>
const Kernels<float>& kernels_v1() {
  return kTable<float>;
}

template <>
const Kernels<double>& kernels_v1() {
  return kTable<double>;
}

const HalfKernels& half_kernels_v1() { return kHalfTable; }

}  // namespace trainyard::cpu
