// SPDX-License-Identifier: GPL-3.0-or-later
// What a checkpoint's files hold, by name: "1.weight" is a whole tensor, "1.weight[100:250]" those
// of its elements, in row-major order, "1.weight[0:128,64:128]" those of its rows and columns, and
// "moment1/1.weight" is what the optimizer keeps of it.
#pragma once

#include "core/session/checkpoint.h"
#include "core/session/safetensors.h"

namespace trainyard::session {

// A whole checkpoint that cannot be used for the model: in what they differ.
base::Problem other_model(const std::filesystem::path& path, std::string what);

// The pieces that spans of flat buffers fall into, as views into them. Spans lie within their
// buffers.
std::vector<NamedTensor> pieces_of(const model::Model& model,
                                   const std::vector<CheckpointSpan>& spans);

// All of a model, in spans.
std::vector<CheckpointSpan> spans_of(const CheckpointTensors& tensors);

// Whether the pieces, of all files together, are those of the model, neither more nor fewer, each
// element once, in the wanted dtype; order does not matter. `where` names the checkpoint in a
// Problem (refused).
base::Result<void> check_pieces(const std::filesystem::path& where,
                                const std::vector<NamedTensor>& pieces, const model::Model& model,
                                const CheckpointTensors& wanted);

// Of pieces that were checked.
void copy_pieces(const std::vector<NamedTensor>& pieces, const model::Model& model,
                 const CheckpointTensors& to);

}  // namespace trainyard::session
