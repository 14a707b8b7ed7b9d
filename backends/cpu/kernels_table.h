// SPDX-License-Identifier: GPL-3.0-or-later
// Tables of pointers to all loops, compiled for the CPU of the including file.
#pragma once

#include "backends/cpu/kernels_attention.h"
#include "backends/cpu/kernels_body.h"
#include "backends/cpu/kernels_channels.h"
#include "backends/cpu/kernels_dropout.h"
#include "backends/cpu/kernels_half.h"
#include "backends/cpu/kernels_pool.h"
#include "backends/cpu/kernels_rows.h"

namespace trainyard::cpu {
namespace {

template <class T>
constexpr Kernels<T> kTable = {.sgd = sgd<T>,
                               .adam = adam<T>,
                               .squared_norm = squared_norm<T>,
                               .relu_backward = relu_backward<T>,
                               .tanh_backward = tanh_backward<T>,
                               .column_sums = column_sums<T>,
                               .sum = sum<T>,
                               .relu = relu<T>,
                               .max_pool = max_pool<T>,
                               .average_pool = average_pool<T>,
                               .max_pool_backward = max_pool_backward<T>,
                               .average_pool_backward = average_pool_backward<T>,
                               .channel_moments = channel_moments<T>,
                               .channel_products = channel_products<T>,
                               .normalize = normalize<T>,
                               .normalize_backward = normalize_backward<T>,
                               .row_norm = row_norm<T>,
                               .row_norm_backward = row_norm_backward<T>,
                               .row_norm_products = row_norm_products<T>,
                               .causal_softmax = causal_softmax<T>,
                               .softmax_backward = softmax_backward<T>,
                               .dropout = dropout<T>};

constexpr HalfKernels kHalfTable = {.widen_bf16 = widen_bf16,
                                    .widen_fp16 = widen_fp16,
                                    .round_bf16 = round_bf16,
                                    .round_fp16 = round_fp16,
                                    .column_sums_bf16 = column_sums_bf16};

}  // namespace
}  // namespace trainyard::cpu
