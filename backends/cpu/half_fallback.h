// SPDX-License-Identifier: GPL-3.0-or-later
// Runs any op on 16-bit tensors through its fp32 version (core/compute/half_precision.h). If rows
// are independent, the op runs on a few rows at a time, so that the fp32 copies stay in the L1 and
// L2 caches. If the copies went through memory, the conversion would take longer than the op.
#pragma once

#include <algorithm>

#include "backends/cpu/prepare.h"
#include "core/compute/half_precision.h"
#include "core/compute/ops.h"

namespace trainyard::cpu {

// True if the op processes rows (or samples) independently. It can then run on slices of the first
// dimension of its 16-bit tensors.
template <class OneOp>
constexpr bool kHasIndependentRows =
    std::is_same_v<OneOp, compute::GeluForward> || std::is_same_v<OneOp, compute::GeluBackward> ||
    std::is_same_v<OneOp, compute::Add> || std::is_same_v<OneOp, compute::Accumulate> ||
    std::is_same_v<OneOp, compute::ActivationBackward> ||
    std::is_same_v<OneOp, compute::RowNormForward> ||
    std::is_same_v<OneOp, compute::RowNormBackwardInput> ||
    std::is_same_v<OneOp, compute::AttentionForward> ||
    std::is_same_v<OneOp, compute::AttentionBackward> ||
    std::is_same_v<OneOp, compute::PoolForward> || std::is_same_v<OneOp, compute::PoolBackward>;

constexpr std::int64_t kSliceElements =
    32768;  // fp32 elements of a slice: 128 KiB, so that several slices fit in the L2 cache

// Numbers of rows: in a slice (`each`), and in the full tensor (`all`).
struct Slices {
  std::int64_t each = 0, all = 0;
};

template <class OneOp>
Slices slices_of(const OneOp& op, int cores) {
  std::int64_t rows = 0, elements = 0;
  compute::for_each_activation(op, [&](const compute::Tensor& tensor, compute::Use) {
    if (!compute::is_half(tensor.dtype) || tensor.empty()) return;
    rows = tensor.shape[0];
    elements = std::max(elements, tensor.elements());
  });
  if (!kHasIndependentRows<OneOp> || elements == 0) return {rows, rows};
  return {std::clamp<std::int64_t>(kSliceElements * cores * rows / elements, 1, rows), rows};
}

// Returns the op restricted to its first `rows` rows.
template <class OneOp>
OneOp with_rows(OneOp op, std::int64_t rows) {
  compute::for_each_activation(op, [&](compute::Tensor& tensor, compute::Use) {
    if (compute::is_half(tensor.dtype)) tensor.shape.extents[0] = rows;
  });
  return op;
}

template <class OneOp>
PreparedKernel prepare_through_fp32(const OneOp& op, const Device& device) {
  const Slices slices = slices_of(op, device.cores);
  const bool whole = slices.each == slices.all;
  const auto prepared = [&](OneOp slice) -> base::Result<HalfSlice> {
    std::size_t number = 0;
    auto passing = compute::widen(slice, [&](std::int64_t elements) {
      return device.widened->scratch_floats(number++, elements);
    });
    auto kernel = prepare(slice, device);
    if (!kernel) return base::fail(kernel.error());
    return HalfSlice{std::move(*kernel), std::move(passing)};
  };
  auto each = prepared(whole ? op : with_rows(op, slices.each));
  if (!each) return base::fail(each.error());
  HalfSlice rest;
  if (const std::int64_t left = whole ? 0 : slices.all % slices.each; left > 0) {
    auto last = prepared(with_rows(op, left));
    if (!last) return base::fail(last.error());
    rest = std::move(*last);
  }
  return in_slices(std::move(*each), whole ? 1 : slices.all / slices.each, std::move(rest),
                   device.cores, device.widened);
}

}  // namespace trainyard::cpu
