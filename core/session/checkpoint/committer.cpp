// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/committer.h"

namespace trainyard::session {

Committer::Committer(std::filesystem::path directory, std::string plan_hash, int parts,
                     bool with_state)
    : directory_(std::move(directory)),
      plan_hash_(std::move(plan_hash)),
      count_(static_cast<std::size_t>(parts)),
      with_state_(with_state) {}

bool Committer::is_complete(const CheckpointFiles& parts) const {
  return parts.of_parameters.size() == count_ && parts.state.has_value() == with_state_;
}

// Records the report that a rank has written its part of a checkpoint. As soon as a checkpoint is
// complete, discards incomplete checkpoints of older steps.
void Committer::take(const Saved& saved) {
  if (!saved.problem.empty() || saved.step <= committed_ || (saved.state && !with_state_)) return;
  CheckpointFiles& parts = parts_[saved.step];
  const CheckpointFile file{saved.file, saved.xxh64, saved.bytes, saved.version};
  if (saved.state) parts.state = file;
  else parts.of_parameters[saved.rank] = file;
  if (!is_complete(parts)) return;
  std::vector<CheckpointFile> files;
  for (const auto& [rank, part] : parts.of_parameters) files.push_back(part);
  if (parts.state) files.push_back(*parts.state);
  whole_[saved.step] = std::move(files);
  parts_.erase(parts_.begin(), parts_.upper_bound(saved.step));
  start_next();
}

void Committer::start_next() {
  if (running_.valid() || whole_.empty()) return;
  // Commits only the newest complete checkpoint if several are waiting.
  const auto [step, files] = *whole_.rbegin();
  whole_.clear();
  running_ =
      std::async(std::launch::async,
                 [directory = directory_, info = CheckpointInfo{step, plan_hash_}, files = files] {
                   Outcome outcome{info.step, 0, {}};
                   for (const CheckpointFile& file : files) outcome.bytes += file.bytes;
                   if (const auto done = commit_checkpoint(directory, info, files); !done)
                     outcome.problem = done.error();
                   return outcome;
                 });
}

std::optional<Committer::Outcome> Committer::look() {
  if (!running_.valid() || running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
    return std::nullopt;
  Outcome outcome = running_.get();
  if (!outcome.problem) committed_ = outcome.step;
  start_next();
  return outcome;
}

}  // namespace trainyard::session
