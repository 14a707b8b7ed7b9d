// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/compute/op_check.h"

#include <fmt/core.h>

#include "core/compute/half_precision.h"

namespace trainyard::compute {

std::string to_text(DType dtype, const Shape& shape) {
  std::string text = std::string(base::name_of(dtype)) + " [";
  for (int i = 0; i < shape.dimensions; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

namespace {

std::string to_text(const Tensor& tensor) { return to_text(tensor.dtype, tensor.shape); }

bool is_full(DType dtype) { return dtype == DType::fp32 || dtype == DType::fp64; }

bool has_negative_extent(const Shape& shape) {
  for (int i = 0; i < shape.dimensions; ++i)
    if (shape[i] < 0) return true;
  return false;
}

}  // namespace

OpCheck& OpCheck::is(std::string_view tensor, const Tensor& found, DType dtype,
                     const Shape& shape) {
  const bool fits = found.dtype == dtype && found.shape == shape;
  require(fits, tensor, fmt::format("is {}", to_text(found)), to_text(dtype, shape));
  return addressed(tensor, found);
}

OpCheck& OpCheck::is_or_empty(std::string_view tensor, const Tensor& found, DType dtype,
                              const Shape& shape) {
  return found.empty() && found.shape == Shape{} ? *this : is(tensor, found, dtype, shape);
}

OpCheck& OpCheck::floating(std::string_view tensor, const Tensor& found) {
  require((is_full(found.dtype) || is_half(found.dtype)) && !has_negative_extent(found.shape),
          tensor, fmt::format("is {}", to_text(found)),
          "fp32, fp64, bf16 or fp16, extents of 0 or more");
  return addressed(tensor, found);
}

OpCheck& OpCheck::full(std::string_view tensor, const Tensor& found) {
  return floating(tensor, found)
      .require(is_full(found.dtype), tensor, fmt::format("is {}", to_text(found)), "fp32 or fp64");
}

OpCheck& OpCheck::matrix(std::string_view tensor, const Tensor& found) {
  require(found.shape.dimensions == 2 && found.shape[1] >= 1, tensor,
          fmt::format("is {}", to_text(found)), "two dimensions, at least one column");
  return floating(tensor, found);
}

OpCheck& OpCheck::image(std::string_view tensor, const Tensor& found) {
  const Shape& s = found.shape;
  const bool fits = s.dimensions == 4 && s[1] >= 1 && s[2] >= 1 && s[3] >= 1;
  require(fits, tensor, fmt::format("is {}", to_text(found)),
          "four dimensions, at least one row, column and channel");
  return floating(tensor, found);
}

OpCheck& OpCheck::channels(std::string_view tensor, const Tensor& found) {
  const Shape& s = found.shape;
  require(s.dimensions >= 2 && s[s.dimensions - 1] >= 1, tensor,
          fmt::format("is {}", to_text(found)), "two or four dimensions, at least one channel");
  return floating(tensor, found);
}

OpCheck& OpCheck::multiplies(Multiplies found, DType dtype) {
  const bool fits = found == Multiplies::full || dtype == DType::fp32;
  const char* what = found == Multiplies::bfloat16 ? "bfloat16" : "tf32";
  return require(fits, "multiplies",
                 fmt::format("is {}, but the tensors of the op are {}", what, base::name_of(dtype)),
                 "tensors of type fp32, or training.multiplies=full");
}

OpCheck& OpCheck::require(bool fits, std::string_view part, const std::string& what,
                          const std::string& accepted) {
  if (!fits && !problem_)
    problem_ = base::Problem{"bad_op",         base::ProblemCode::bad_input,
                             std::string(op_), fmt::format("{} {}", part, what),
                             accepted,         ""};
  return *this;
}

base::Result<void> OpCheck::result() const {
  if (problem_) return base::fail(*problem_);
  return {};
}

OpCheck& OpCheck::addressed(std::string_view tensor, const Tensor& found) {
  if (found.elements() == 0) return *this;
  require(found.data != nullptr, tensor, "has no address",
          fmt::format("memory for {}", to_text(found)));
  return require(!reaches_ || reaches_(found.data), tensor,
                 "is in memory that this device cannot access",
                 "memory that the device allocated, imported or registered");
}

}  // namespace trainyard::compute
