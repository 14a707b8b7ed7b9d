// SPDX-License-Identifier: GPL-3.0-or-later
// Names of tensors in checkpoint files. "1.weight" is a full tensor, "1.weight[100:250]" a range of
// its elements in row-major order, "1.weight[0:128,64:128]" a box of rows and columns, and
// "moment1/1.weight" an optimizer moment of that parameter.
#pragma once

#include "core/session/checkpoint/checkpoint.h"
#include "core/session/checkpoint/safetensors.h"

namespace trainyard::session {

// Returns the Problem for a complete checkpoint that does not match the model. `what` states the
// difference.
base::Problem other_model(const std::filesystem::path& path, std::string what);

// Splits spans of flat buffers into named tensors, which are views into the spans. Spans must lie
// within their buffers.
std::vector<NamedTensor> pieces_of(const model::Model& model,
                                   const std::vector<CheckpointSpan>& spans);

// Returns spans that cover all tensors of a model.
std::vector<CheckpointSpan> spans_of(const CheckpointTensors& tensors);

// Checks that the pieces of all files together cover the model exactly: each element once, no extra
// tensors, in the wanted dtype. Order does not matter. If the check fails, returns a Problem
// (refused) in which `where` names the checkpoint.
base::Result<void> check_pieces(const std::filesystem::path& where,
                                const std::vector<NamedTensor>& pieces, const model::Model& model,
                                const CheckpointTensors& wanted);

// Copies the pieces to their positions in `to`. The pieces must have passed `check_pieces`.
void copy_pieces(const std::vector<NamedTensor>& pieces, const model::Model& model,
                 const CheckpointTensors& to);

}  // namespace trainyard::session
