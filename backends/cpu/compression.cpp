// SPDX-License-Identifier: GPL-3.0-or-later
// Gradient compression with the host kernels of core/compute/compression, which all devices share.
#include "backends/cpu/prepare.h"
#include "core/compute/compression/kernels.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

PreparedKernel prepare(const compute::CompressGradient& op, const Device&) {
  return compute::compression::kernel(op);
}
PreparedKernel prepare(const compute::DecompressGradient& op, const Device&) {
  return compute::compression::kernel(op);
}
PreparedKernel prepare(const compute::PowerSgdLeft& op, const Device&) {
  return compute::compression::kernel(op);
}
PreparedKernel prepare(const compute::PowerSgdRight& op, const Device&) {
  return compute::compression::kernel(op);
}
PreparedKernel prepare(const compute::PowerSgdDecode& op, const Device&) {
  return compute::compression::kernel(op);
}

}  // namespace trainyard::cpu
