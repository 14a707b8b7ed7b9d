// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a rank's part of checkpoints in the background. The training thread copies the data, and
// another thread writes it. A part that is offered during a write is skipped, so no step ever waits
// for a disk.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/compute/compute.h"
#include "core/session/checkpoint/checkpoint.h"
#include "core/session/protocol/messages.h"

namespace trainyard::session {

// Queue of reports about written checkpoint parts, from the writing thread to the thread that sends
// the reports to the coordinator.
class SavedQueue {
 public:
  void put(Saved saved) {
    const std::lock_guard lock(mutex_);
    saved_.push_back(std::move(saved));
  }
  std::vector<Saved> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(saved_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Saved> saved_;
};

class PartWriter {
 public:
  // `name`: name of the checkpoint parts. `state`: true if the parts hold the model's state besides
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
  base::Result<Saved> write(std::int64_t step, std::int64_t version,
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
