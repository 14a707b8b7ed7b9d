// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a rank's part of checkpoints in the background. The training thread copies the data, and
// another thread writes it. A part that is offered during a write is skipped, so no step ever waits
// for a disk. A rank without access to the run directory encodes its parts instead; the coordinator
// receives and writes them.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/compute/compute.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/session/protocol/messages.h"

namespace trainyard::session {

// Report about a checkpoint part, and the part's content if it is not written yet.
struct SavedPart {
  Saved report;
  std::string content{};
};

// Queue of reports about checkpoint parts, from the writing thread to the thread that sends the
// reports to the coordinator.
class SavedQueue {
 public:
  void put(SavedPart part) {
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
  }
  std::vector<SavedPart> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(parts_, {});
  }
  bool empty() const {
    const std::lock_guard lock(mutex_);
    return parts_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<SavedPart> parts_;
};

class PartWriter {
 public:
  // `directory`: of the checkpoints; empty if this rank has no access to it. `name`: name of the
  // checkpoint parts. `state`: true if the parts hold the model's state besides
  // parameters. `model`, `device` (which holds the data) and `box` must outlive the writer.
  PartWriter(std::filesystem::path directory, int rank, std::string name, bool state,
             const model::Model& model, compute::Compute* device, SavedQueue& box);
  ~PartWriter();  // Waits for the write in progress.
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // Copies the data and returns. Returns false, without a copy, if the previous write is still in
  // progress.
  bool offer(std::int64_t step, std::int64_t version, const std::vector<CheckpointSpan>& spans);
  // Writes the part before it returns, after any write in progress has ended. Does nothing if the
  // last write had the same step and version. Puts a report into `box`, as a background write does.
  base::Result<void> write_now(std::int64_t step, std::int64_t version,
                               const std::vector<CheckpointSpan>& spans);

 private:
  struct Copy {
    std::int64_t step = 0, version = 0;
    std::vector<CheckpointSpan> spans;
    std::vector<std::vector<std::byte>> bytes;
  };
  void serve();
  void take(const std::vector<CheckpointSpan>& spans, Copy& copy) const;
  base::Result<SavedPart> write(std::int64_t step, std::int64_t version,
                                const std::vector<CheckpointSpan>& spans) const;

  std::filesystem::path directory_;
  int rank_;
  std::string name_;
  bool state_;
  const model::Model& model_;
  compute::Compute* device_;
  SavedQueue& box_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Copy copy_;
  std::optional<Saved> last_;
  bool busy_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace trainyard::session
