// SPDX-License-Identifier: GPL-3.0-or-later
// Convolutions, prepared once. Measured on one core of a Zen 5 (AVX-512), microseconds of forward /
// backward input / backward weight at batch 64, for 1-32 3x3 on 28 x 28 and 32-64 3x3 on 13 x 13:
//   images channels last          233 / - / 406      1218 / 1442 / 1316
//   oneDNN's own blocked layouts  172 (weight)       1320 / 1306 / 1351   (and 36 us for each image that must be reordered)
//   images channels first         1008 / - / 1111    2387 / 2644 / 2364   (it falls back on matrix products)
// So images lie channels last throughout, where pooling and normalisation are simple loops besides,
// and only weights, a few microseconds, are reordered to what oneDNN likes best. oneDNN 2 has no
// fp64: that is OpenBLAS on columns (convolution_columns.cpp).
#pragma once

#include "backends/cpu/prepare.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// Of fp64, and of shapes that `validate` has accepted.
PreparedKernel prepare_columns(const compute::Conv2dForward& op);
PreparedKernel prepare_columns(const compute::Conv2dBackwardInput& op);
PreparedKernel prepare_columns(const compute::Conv2dBackwardWeight& op, int cores);

}  // namespace trainyard::cpu
