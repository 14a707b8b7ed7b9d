// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints on disk. Each checkpoint is a directory `step-N` with one or several files
// `PART-XXH64.safetensors` (tensor names and shapes inside, format of huggingface/safetensors) and
// a `manifest.json`. The manifest is written last. It names the files with their sizes and xxh64,
// and carries a checksum of itself. A directory without a complete manifest is not a checkpoint.
//
// Two checkpoints are kept: the newest one, and the complete one before it. Older checkpoints are
// deleted only after the new one has been read back. So a write failure never destroys the last
// complete checkpoint. If the newest checkpoint is damaged later, the previous one is used.
//
// Several ranks may write their shards at the same time (`write_part`). The process that has
// received all reports then commits the checkpoint (`commit_checkpoint`). Together the parts hold
// every element exactly once. A reader does not depend on the number of ranks or on shard
// boundaries.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/model/model.h"
#include "core/session/checkpoint/checkpoint_manifest.h"

namespace trainyard::session {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::string plan_hash;
};

// Tensors of a model in a checkpoint, all flat: parameters, training state besides parameters
// (`model::Model::state`), and optimizer moments, each as long as the parameters. `state` may be
// empty for a model without state. Moments that the caller does not pass are not read.
struct CheckpointTensors {
  CheckpointTensors(const compute::Tensor& of_parameters, const compute::Tensor& of_state = {},
                    std::vector<compute::Tensor> of_moments = {})
      : parameters(of_parameters), state(of_state), moments(std::move(of_moments)) {}

  compute::Tensor parameters, state;
  std::vector<compute::Tensor> moments;
};

// Identifies a flat buffer of `CheckpointTensors`. A rank that holds only a part of the model
// writes spans of these buffers.
enum class CheckpointBuffer : std::uint8_t { parameters, state, moment1, moment2 };
struct CheckpointSpan {
  CheckpointBuffer buffer = CheckpointBuffer::parameters;
  std::int64_t first = 0;  // First element in the buffer.
  compute::Tensor values;
};

struct LoadedCheckpoint {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
  base::Problems skipped;  // Newer checkpoints that could not be used, and why.
};

// Writes a checkpoint into `directory`, which is created if missing. Deletes checkpoints of later
// steps: they belong to a history that was abandoned. Only one writer at a time.
base::Result<void> write_checkpoint(const std::filesystem::path& directory,
                                    const CheckpointInfo& info, const model::Model& model,
                                    const CheckpointTensors& tensors);

// A part of a checkpoint: its file, and the content of the file. The content is empty if the file
// is in the checkpoint's directory already.
struct CheckpointPart {
  CheckpointFile file;
  std::string content;
};

// Encodes a part, for a writer that has no access to the checkpoint's directory. `name` and
// `version` as in `write_part`.
CheckpointPart encode_part(const std::string& name, std::int64_t version, const model::Model& model,
                           const std::vector<CheckpointSpan>& spans);
// Writes an encoded part of the checkpoint of `step`. Refuses a content that does not match the
// part's name, size and checksum.
base::Result<void> store_part(const std::filesystem::path& directory, std::int64_t step,
                              const CheckpointPart& part);

// Writes one part of the checkpoint of `step`; each writer calls it for its own part. `name`
// consists of letters, digits and '-'. The part has no effect until it is committed. `version`:
// number of steps that the writer has completed; for a server, number of its updates.
base::Result<CheckpointFile> write_part(const std::filesystem::path& directory, std::int64_t step,
                                        const std::string& name, std::int64_t version,
                                        const model::Model& model,
                                        const std::vector<CheckpointSpan>& spans);
// Commits a checkpoint whose parts have all been written. Keeps parts of later steps, because they
// may still be in progress.
base::Result<void> commit_checkpoint(const std::filesystem::path& directory,
                                     const CheckpointInfo& info,
                                     const std::vector<CheckpointFile>& parts);

// Reads the newest complete checkpoint. Verifies every checksum, name, shape and offset before it
// writes to `tensors`. Skips damaged checkpoints; returns bad_input if none is left. Refuses a
// complete checkpoint of another model or dtype.
base::Result<LoadedCheckpoint> read_checkpoint(const std::filesystem::path& directory,
                                               const model::Model& model,
                                               const CheckpointTensors& tensors);

// Returns the step of the newest checkpoint that has a manifest, or nothing if there is none. Does
// not read the checkpoint.
std::optional<std::int64_t> committed_step(const std::filesystem::path& directory);

// Returns the newest checkpoint whose files pass verification. Does not check the model.
base::Result<CheckpointInfo> newest_checkpoint(const std::filesystem::path& directory);

}  // namespace trainyard::session

template <>
struct trainyard::base::Names<trainyard::session::CheckpointBuffer> {
  using B = trainyard::session::CheckpointBuffer;
  static constexpr std::pair<B, std::string_view> table[] = {{B::parameters, "parameters"},
                                                             {B::state, "state"},
                                                             {B::moment1, "moment1"},
                                                             {B::moment2, "moment2"}};
};
