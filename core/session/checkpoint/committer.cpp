// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/committer.h"

namespace trainyard::session {
namespace {

constexpr std::size_t kMaxIncomplete = 8;  // incomplete checkpoints with parts in memory

// Writes the parts that are not in the directory yet, and commits the checkpoint.
base::Result<void> write_and_commit(const std::filesystem::path& directory,
                                    const CheckpointInfo& info,
                                    const std::vector<CheckpointPart>& parts) {
  std::vector<CheckpointFile> files;
  for (const CheckpointPart& part : parts) {
    if (!part.content.empty())
      if (auto ok = store_part(directory, info.step, part); !ok) return ok;
    files.push_back(part.file);
  }
  return commit_checkpoint(directory, info, files);
}

}  // namespace

Committer::Committer(std::filesystem::path directory, std::string plan_hash, int parts,
                     bool with_state)
    : directory_(std::move(directory)),
      plan_hash_(std::move(plan_hash)),
      count_(static_cast<std::size_t>(parts)),
      with_state_(with_state) {}

bool Committer::is_complete(const Parts& parts) const {
  return parts.of_parameters.size() == count_ && parts.state.has_value() == with_state_;
}

// Records the report that a rank has written its part of a checkpoint. As soon as a checkpoint is
// complete, discards incomplete checkpoints of older steps.
void Committer::take(const Saved& saved, std::string content) {
  if (!saved.problem.empty() || saved.step <= committed_ || (saved.state && !with_state_)) return;
  Parts& parts = parts_[saved.step];
  const bool is_in_memory = !content.empty();
  CheckpointPart part{{saved.file, saved.xxh64, saved.bytes, saved.version}, std::move(content)};
  if (saved.state) parts.state = std::move(part);
  else parts.of_parameters[saved.rank] = std::move(part);
  // Ranks may skip different steps, so that some checkpoints never become complete. Parts in memory
  // must not accumulate; all others are on the disk already.
  if (!is_complete(parts)) {
    if (is_in_memory && parts_.size() > kMaxIncomplete) parts_.erase(parts_.begin());
    return;
  }
  std::vector<CheckpointPart> whole;
  for (auto& [rank, one] : parts.of_parameters) whole.push_back(std::move(one));
  if (parts.state) whole.push_back(std::move(*parts.state));
  whole_[saved.step] = std::move(whole);
  parts_.erase(parts_.begin(), parts_.upper_bound(saved.step));
  start_next();
}

void Committer::start_next() {
  if (running_.valid() || whole_.empty()) return;
  // Commits only the newest complete checkpoint if several are waiting.
  CheckpointInfo info{whole_.rbegin()->first, plan_hash_};
  std::vector<CheckpointPart> parts = std::move(whole_.rbegin()->second);
  whole_.clear();
  running_ = std::async(std::launch::async,
                        [directory = directory_, info = std::move(info), parts = std::move(parts)] {
                          Outcome outcome{info.step, 0, {}};
                          for (const CheckpointPart& part : parts) outcome.bytes += part.file.bytes;
                          if (const auto done = write_and_commit(directory, info, parts); !done)
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
