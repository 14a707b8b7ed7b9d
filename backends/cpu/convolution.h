// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions, prepared once. Time in microseconds of forward / backward input / backward weight
// on one core of a Zen 5 (AVX-512), batch 64:
//                                 1-32 3x3 on 28x28    32-64 3x3 on 13x13
//   images channels last          233 / - / 406        1218 / 1442 / 1316
//   oneDNN's blocked layouts      172 (weight)         1320 / 1306 / 1351
//   images channels first         1008 / - / 1111      2387 / 2644 / 2364
// Blocked layouts need another 36 us for each image that must be reordered. With channels first,
// oneDNN falls back on matrix products. Therefore images are channels last (NHWC) everywhere, which
// also keeps the loops of pooling and normalization simple. Only weights are reordered to the
// layout that oneDNN prefers, which takes a few microseconds. oneDNN 2 has no fp64:
// convolution_columns.cpp computes it with OpenBLAS on im2col columns.
#pragma once

#include "backends/cpu/prepare.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// Prepares a convolution in fp64. `validate` must have accepted the shapes.
PreparedKernel prepare_columns(const compute::Conv2dForward& op);
PreparedKernel prepare_columns(const compute::Conv2dBackwardInput& op);
PreparedKernel prepare_columns(const compute::Conv2dBackwardWeight& op, int cores);

}  // namespace trainyard::cpu
