// SPDX-License-Identifier: GPL-3.0-or-later
// Checkpoints on disk: a directory `step-N` each, with one file or several `PART-XXH64.safetensors`
// (by name and with shapes what is in them, the format of huggingface/safetensors), and
// `manifest.json`, written last, that names the files with their sizes and xxh64 and carries a
// checksum of itself. Without a whole manifest there is no checkpoint. Two are kept: the newest and
// the whole one before it. Older ones go only once the new one has been read back, so at any
// moment, and after any failure to write, a whole one is there if one ever was; and when the newest
// is damaged later, the one before it is used.
//
// Several ranks may each write what they keep (write_part), at the same time, and one that has
// heard of all of them makes it a checkpoint (commit_checkpoint). Together the parts hold every
// element once; on how many ranks, and where one's part ends, is not what a reader asks.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/model/model.h"
#include "core/session/checkpoint_manifest.h"

namespace trainyard::session {

struct CheckpointInfo {
  std::int64_t step = 0;
  std::string plan_hash;
};

// What a checkpoint holds of a model: its parameters, what training keeps besides
// (model::Model::state), and the moments of the optimizer, as long as the parameters each. All
// flat. The state may be left out of a model that has none; moments that nobody asks for are not
// read.
struct CheckpointTensors {
  CheckpointTensors(const compute::Tensor& of_parameters, const compute::Tensor& of_state = {},
                    std::vector<compute::Tensor> of_moments = {})
      : parameters(of_parameters), state(of_state), moments(std::move(of_moments)) {}

  compute::Tensor parameters, state;
  std::vector<compute::Tensor> moments;
};

// What one writer has: spans of those flat buffers.
enum class CheckpointBuffer : std::uint8_t { parameters, state, moment1, moment2 };
struct CheckpointSpan {
  CheckpointBuffer buffer = CheckpointBuffer::parameters;
  std::int64_t first = 0;  // element of the buffer
  compute::Tensor values;
};

struct LoadedCheckpoint {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
  base::Problems passed_over;  // newer ones that could not be used, and why
};

// Adds a checkpoint to those in `directory`, which is made where it is missing. Those of later
// steps are of a past that was given up, and go too. One writer at a time.
base::Result<void> write_checkpoint(const std::filesystem::path& directory,
                                    const CheckpointInfo& info, const model::Model& model,
                                    const CheckpointTensors& tensors);

// A part of the checkpoint of `step`, from its own writer; `name` is letters, digits and '-'. It
// counts for nothing until it is committed. `version`: of what is in it, as its writer counts.
base::Result<CheckpointFile> write_part(const std::filesystem::path& directory, std::int64_t step,
                                        const std::string& name, std::int64_t version,
                                        const model::Model& model,
                                        const std::vector<CheckpointSpan>& spans);
// Of parts that have all been written. Parts of later steps stay, for they may be being written.
base::Result<void> commit_checkpoint(const std::filesystem::path& directory,
                                     const CheckpointInfo& info,
                                     const std::vector<CheckpointFile>& parts);

// The newest whole one. Verifies every checksum, name, shape and offset before it touches
// `tensors`. Damage is passed over, and bad_input where nothing is left; a whole checkpoint of
// another model or dtype is refused.
base::Result<LoadedCheckpoint> read_checkpoint(const std::filesystem::path& directory,
                                               const model::Model& model,
                                               const CheckpointTensors& tensors);

// The newest one that has a manifest, by its step; nothing of it is read. Nothing where there is
// none.
std::optional<std::int64_t> committed_step(const std::filesystem::path& directory);

// Which one that would be, its files verified, whatever model it is of.
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
