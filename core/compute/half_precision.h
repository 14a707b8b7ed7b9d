// SPDX-License-Identifier: GPL-3.0-or-later
// Mixed precision (Micikevicius et al. 2018). Activations and their gradients may be bf16 or fp16.
// The inputs of matrix multiplications, and biases, then have that dtype too. Everything else that
// an op uses is fp32: parameters of normalizations, tables, row numbers, and the gradients of all
// parameters. Inputs are widened to fp32, results are computed in fp32, and rounded once (to
// nearest, ties to even) when they are stored. A copy may change the dtype. Attention may also
// round p_ij and d_ij (ops.h) before it multiplies them, each divided by a factor that is common to
// a row.
//
// This implementation is for devices whose memory this process can access. It widens 16-bit tensors
// to fp32 and runs the op on the fp32 tensors. Faster backends have their own implementation.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "core/compute/compute.h"
#include "core/compute/ops.h"

namespace trainyard::compute {

constexpr bool is_half(DType dtype) { return dtype == DType::bf16 || dtype == DType::fp16; }
// Returns the dtype in which sums over tensors of `dtype` and their stored state are kept: fp32 for
// 16-bit dtypes, otherwise `dtype`.
constexpr DType wide(DType dtype) { return is_half(dtype) ? DType::fp32 : dtype; }

// Convert elementwise. `round` rounds to nearest, ties to even; `widen` is exact.
void widen(DType from, const std::byte* halves, float* values, std::int64_t elements);
void round(DType to, const float* values, std::byte* halves, std::int64_t elements);

// Use of a tensor, which may have 16 bits, by an op: reading, writing or both.
struct Use {
  bool read = false, written = false;
};

// Calls visit(tensor, use) for each tensor of an op that may have 16 bits, including empty
// ones.
template <class AnyOp, class Visit>
void for_each_activation(AnyOp& op, const Visit& visit) {
  using OneOp = std::remove_const_t<AnyOp>;
  constexpr bool in_place = std::is_same_v<OneOp, ActivationBackward>,
                 adds = std::is_same_v<OneOp, Accumulate> || std::is_same_v<OneOp, CopyColumns>;
  constexpr bool is_backward =
      in_place || std::is_same_v<OneOp, PoolBackward> || std::is_same_v<OneOp, AttentionBackward>;
  constexpr Use read{true, false}, written{false, true}, changed{true, true};
  if constexpr (requires { op.input; }) visit(op.input, read);
  if constexpr (requires { op.weight; }) visit(op.weight, read);
  if constexpr (requires { op.bias; }) visit(op.bias, read);
  if constexpr (requires { op.left; }) visit(op.left, read);
  if constexpr (requires { op.right; }) visit(op.right, read);
  if constexpr (requires { op.logits; }) visit(op.logits, read);
  if constexpr (requires { op.output_gradient; }) visit(op.output_gradient, read);
  if constexpr (requires { op.output; })
    visit(op.output, is_backward ? read : adds ? changed : written);
  if constexpr (requires { op.gradient; }) visit(op.gradient, in_place ? changed : written);
  if constexpr (requires { op.input_gradient; }) visit(op.input_gradient, written);
}

template <class OneOp>
bool has_half_tensors(const OneOp& op) {
  bool found = false;
  for_each_activation(
      op, [&](const Tensor& tensor, Use) { found |= is_half(tensor.dtype) && !tensor.empty(); });
  return found;
}

struct Passing {
  Tensor half;
  float* wide = nullptr;
  Use use;
};

// Replaces the 16-bit tensors of `op` by fp32 tensors. allocate(elements) returns the memory of
// such a tensor, which only this op uses while it runs.
template <class OneOp, class Allocate>
std::vector<Passing> widen(OneOp& op, const Allocate& allocate) {
  std::vector<Passing> list;
  for_each_activation(op, [&](Tensor& tensor, Use use) {
    if (!is_half(tensor.dtype)) return;
    const auto same = [&](const Passing& known) {
      return known.half.data == tensor.data && known.half.elements() == tensor.elements();
    };
    auto at = std::find_if(list.begin(), list.end(), same);
    if (at == list.end() && !tensor.empty())
      at = list.insert(at, {tensor, allocate(tensor.elements()), {}});
    if (at != list.end()) at->use = {at->use.read || use.read, at->use.written || use.written};
    tensor = {DType::fp32, tensor.shape,
              at != list.end() ? reinterpret_cast<std::byte*>(at->wide) : nullptr};
  });
  return list;
}

}  // namespace trainyard::compute
