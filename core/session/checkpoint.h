// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints on disk: a directory `step-N` each, with `model-XXH64.safetensors` (parameters and state by name, with shapes; format of
// huggingface/safetensors) and `manifest.json`, written last, that names the file with its size and xxh64 and carries a
// checksum of itself. Without a whole manifest there is no checkpoint. Two are kept: the newest and the whole one before it.
// Older ones go only once the new one has been read back, so at any moment, and after any failure to write, a whole one is
// there if one ever was; and when the newest is damaged later, the one before it is used.
#pragma once

#include <filesystem>

#include "core/model/model.h"

namespace trainyard::session {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::string plan_hash;
};

// What a checkpoint holds of a model: its parameters, and what training keeps besides (model::Model::state), flat. The state may be
// left out of a model that has none.
struct CheckpointTensors {
  CheckpointTensors(const compute::Tensor& of_parameters, const compute::Tensor& of_state = {}) : parameters(of_parameters), state(of_state) {}

  compute::Tensor parameters, state;
};

struct LoadedCheckpoint {
  CheckpointInfo info;
  base::Problems passed_over;  // newer ones that could not be used, and why
};

// Adds a checkpoint to those in `directory`, which is made where it is missing. Those of later steps are of a past that was
// given up, and go too. One writer at a time.
base::Result<void> write_checkpoint(const std::filesystem::path& directory, const CheckpointInfo& info, const model::Model& model,
                                    const CheckpointTensors& tensors);

// The newest whole one. Verifies every checksum, name, shape and offset before it touches `tensors`. Damage is passed
// over, and bad_input where nothing is left; a whole checkpoint of another model or dtype is refused.
base::Result<LoadedCheckpoint> read_checkpoint(const std::filesystem::path& directory, const model::Model& model, const CheckpointTensors& tensors);

}  // namespace trainyard::session
