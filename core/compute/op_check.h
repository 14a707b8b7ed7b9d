// SPDX-License-Identifier: GPL-3.0-or-later
// Checks of the tensors of one op, used by `validate`. Only the first mismatch is reported.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/compute/ops.h"
#include "core/compute/validate.h"

namespace trainyard::compute {

std::string to_text(DType dtype, const Shape& shape);  // "fp32 [128, 784]"
inline std::int64_t last_extent(const Tensor& tensor) {
  return tensor.shape.dimensions > 0 ? tensor.shape[tensor.shape.dimensions - 1] : 0;
}

class OpCheck {
 public:
  OpCheck(std::string_view op, const IsAccessible& reaches) : op_(op), reaches_(reaches) {}

  OpCheck& is(std::string_view tensor, const Tensor& found, DType dtype, const Shape& shape);
  OpCheck& is_or_empty(std::string_view tensor, const Tensor& found, DType dtype,
                       const Shape& shape);
  OpCheck& floating(std::string_view tensor, const Tensor& found);
  OpCheck& full(std::string_view tensor, const Tensor& found);  // Requires fp32 or fp64.
  OpCheck& matrix(std::string_view tensor,
                  const Tensor& found);  // Requires [rows, columns] with at least one column.
  // Requires [B,H,W,C]; only B may be 0.
  OpCheck& image(std::string_view tensor, const Tensor& found);
  OpCheck& channels(std::string_view tensor,
                    const Tensor& found);  // Requires [..,C]: two dimensions or more, C at least 1.
  // Requires fp32 tensors if matrix multiplications use another number format than `full`.
  OpCheck& multiplies(Multiplies found, DType dtype);
  OpCheck& require(bool fits, std::string_view part, const std::string& what,
                   const std::string& accepted);

  base::Result<void> result() const;

 private:
  OpCheck& addressed(std::string_view tensor, const Tensor& found);

  std::string_view op_;
  const IsAccessible& reaches_;
  std::optional<base::Problem> problem_;
};

// Functions that return the name of an op for messages, and that check its tensors. They are
// defined in validate_image.cpp, validate_transformer.cpp and validate_compression.cpp.
std::string_view name_of_op(const Conv2dForward& op);
std::string_view name_of_op(const Conv2dBackwardInput& op);
std::string_view name_of_op(const Conv2dBackwardWeight& op);
std::string_view name_of_op(const PoolForward& op);
std::string_view name_of_op(const PoolBackward& op);
std::string_view name_of_op(const BatchNormSums& op);
std::string_view name_of_op(const BatchNormForward& op);
std::string_view name_of_op(const BatchNormEvaluate& op);
std::string_view name_of_op(const BatchNormBackwardWeight& op);
std::string_view name_of_op(const BatchNormBackwardInput& op);
std::string_view name_of_op(const RowNormForward& op);
std::string_view name_of_op(const RowNormBackwardWeight& op);
std::string_view name_of_op(const RowNormBackwardInput& op);
std::string_view name_of_op(const GeluForward& op);
std::string_view name_of_op(const GeluBackward& op);
std::string_view name_of_op(const AttentionForward& op);
std::string_view name_of_op(const AttentionBackward& op);
std::string_view name_of_op(const Dropout& op);
std::string_view name_of_op(const Add& op);
std::string_view name_of_op(const Accumulate& op);
std::string_view name_of_op(const Copy& op);
std::string_view name_of_op(const Scale& op);
std::string_view name_of_op(const WeightedSum& op);
std::string_view name_of_op(const CompressGradient& op);
std::string_view name_of_op(const DecompressGradient& op);
std::string_view name_of_op(const PowerSgdLeft& op);
std::string_view name_of_op(const PowerSgdRight& op);
std::string_view name_of_op(const PowerSgdDecode& op);
void check(const Conv2dForward& op, OpCheck& check);
void check(const Conv2dBackwardInput& op, OpCheck& check);
void check(const Conv2dBackwardWeight& op, OpCheck& check);
void check(const PoolForward& op, OpCheck& check);
void check(const PoolBackward& op, OpCheck& check);
void check(const BatchNormSums& op, OpCheck& check);
void check(const BatchNormForward& op, OpCheck& check);
void check(const BatchNormEvaluate& op, OpCheck& check);
void check(const BatchNormBackwardWeight& op, OpCheck& check);
void check(const BatchNormBackwardInput& op, OpCheck& check);
void check(const RowNormForward& op, OpCheck& check);
void check(const RowNormBackwardWeight& op, OpCheck& check);
void check(const RowNormBackwardInput& op, OpCheck& check);
void check(const GeluForward& op, OpCheck& check);
void check(const GeluBackward& op, OpCheck& check);
void check(const AttentionForward& op, OpCheck& check);
void check(const AttentionBackward& op, OpCheck& check);
void check(const Dropout& op, OpCheck& check);
void check(const Add& op, OpCheck& check);
void check(const Accumulate& op, OpCheck& check);
void check(const Copy& op, OpCheck& check);
void check(const Scale& op, OpCheck& check);
void check(const WeightedSum& op, OpCheck& check);
void check(const CompressGradient& op, OpCheck& check);
void check(const DecompressGradient& op, OpCheck& check);
void check(const PowerSgdLeft& op, OpCheck& check);
void check(const PowerSgdRight& op, OpCheck& check);
void check(const PowerSgdDecode& op, OpCheck& check);

}  // namespace trainyard::compute
