// SPDX-License-Identifier: GPL-3.0-or-later
// A checkpoint on disk: `model-STEP-XXH64.safetensors` (parameters by name, with shapes; format of huggingface/safetensors)
// and `manifest.json`, written last, that names the file with its size and xxh64 and carries a checksum of itself. Without a
// whole manifest there is no checkpoint. The model file of an older one goes only once the new one has been read back, so
// at any moment, and after any failure to write, a whole checkpoint is there if one ever was.
#pragma once

#include <filesystem>

#include "core/model/model.h"

namespace trainyard::session {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::string plan_hash;
};

// Replaces the checkpoint in `directory`, which is made where it is missing. One writer at a time.
base::Result<void> write_checkpoint(const std::filesystem::path& directory, const CheckpointInfo& info, const model::Model& model,
                                    const compute::Tensor& parameters);

// Verifies every checksum, name, shape and offset before it touches `parameters`. Damage is bad_input; a whole checkpoint of
// another model or dtype is refused.
base::Result<CheckpointInfo> read_checkpoint(const std::filesystem::path& directory, const model::Model& model, const compute::Tensor& parameters);

}  // namespace trainyard::session
