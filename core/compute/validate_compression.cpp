// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include "core/compute/op_check.h"

namespace trainyard::compute {
namespace {

using compression::Scheme;

void check_scheme(Scheme kind, OpCheck& check) {
  check.require(kind != Scheme::none && kind != Scheme::power_sgd, "kind",
                fmt::format("is {}", base::name_of(kind)),
                "fp16, bf16, int8, sign, top_k or random_k");
}

void check_flat(std::string_view tensor, const Tensor& found, std::int64_t elements,
                OpCheck& check) {
  check.is(tensor, found, DType::fp32, {elements});
}

}  // namespace

std::string_view name_of_op(const CompressGradient&) { return "compress_gradient"; }
void check(const CompressGradient& op, OpCheck& check) {
  const std::int64_t elements = op.gradient.elements();
  check_scheme(op.spec.kind, check);
  check.is("gradient", op.gradient, DType::fp32, {elements})
      .is_or_empty("residual", op.residual, DType::fp32, {elements});
  check.is("encoded", op.encoded, compression::wire_dtype(op.spec.kind),
           {compression::encoded_elements(op.spec, elements)});
  check.is("squared_error", op.squared_error, DType::fp64, {1});
  if (op.spec.kind == Scheme::random_k) check.is("step", op.step, DType::fp64, {1});
}

std::string_view name_of_op(const DecompressGradient&) { return "decompress_gradient"; }
void check(const DecompressGradient& op, OpCheck& check) {
  const std::int64_t elements = op.gradient.elements();
  check_scheme(op.spec.kind, check);
  check.require(op.parts >= 1, "parts", fmt::format("is {}", op.parts), "1 or more");
  check.require(op.parts == 1 || compression::gathers(op.spec.kind), "parts",
                fmt::format("is {}", op.parts),
                "1, because encodings of this scheme are all-reduced to a single one");
  check.is("gradient", op.gradient, DType::fp32, {elements});
  check.is("encoded", op.encoded, compression::wire_dtype(op.spec.kind),
           {op.parts * compression::encoded_elements(op.spec, elements)});
  if (op.spec.kind == Scheme::random_k) check.is("step", op.step, DType::fp64, {1});
}

std::string_view name_of_op(const PowerSgdLeft&) { return "power_sgd_left"; }
void check(const PowerSgdLeft& op, OpCheck& check) {
  check_flat("gradient", op.gradient, op.layout.elements, check);
  check.is_or_empty("residual", op.residual, DType::fp32, {op.layout.elements});
  check_flat("guess", op.guess, op.layout.right_elements, check);
  check_flat("left", op.left, op.layout.left_elements, check);
}

std::string_view name_of_op(const PowerSgdRight&) { return "power_sgd_right"; }
void check(const PowerSgdRight& op, OpCheck& check) {
  check_flat("source", op.source, op.layout.elements, check);
  check_flat("left", op.left, op.layout.left_elements, check);
  check_flat("basis", op.basis, op.layout.left_elements, check);
  check_flat("right", op.right, op.layout.right_elements, check);
}

std::string_view name_of_op(const PowerSgdDecode&) { return "power_sgd_decode"; }
void check(const PowerSgdDecode& op, OpCheck& check) {
  check_flat("left", op.left, op.layout.left_elements, check);
  check_flat("basis", op.basis, op.layout.left_elements, check);
  check_flat("right", op.right, op.layout.right_elements, check);
  check_flat("gradient", op.gradient, op.layout.elements, check);
  check.is_or_empty("residual", op.residual, DType::fp32, {op.layout.elements});
  check_flat("guess", op.guess, op.layout.right_elements, check);
  check.is("squared_error", op.squared_error, DType::fp64, {1})
      .require(op.ranks >= 1, "ranks", fmt::format("is {}", op.ranks), "1 or more");
}

}  // namespace trainyard::compute
