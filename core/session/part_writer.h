// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a rank's part of checkpoints beside training: who trains copies, and a thread writes.
// While it writes, what comes is passed over, so that no step ever waits for a disk.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "core/session/checkpoint.h"
#include "core/session/messages.h"

namespace trainyard::session {

// What was written, on its way to the one that ships it.
class SavedBox {
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
  // Parts are called `name`; the model, the device that has what is written, and the box outlive
  // it. `state`: of Saved.
  PartWriter(std::filesystem::path directory, int rank, std::string name, bool state,
             const model::Model& model, compute::Compute* device, SavedBox& box);
  ~PartWriter();  // what it writes is written to its end
  PartWriter(const PartWriter&) = delete;
  PartWriter& operator=(const PartWriter&) = delete;

  // Copies. False: the last one is being written still, and this one is passed over.
  bool offer(std::int64_t step, std::int64_t version, const std::vector<CheckpointSpan>& spans);
  // Writes as it stands, after what is being written; not again what that was. Into the box as
  // well.
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
  SavedBox& box_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Copy copy_;
  std::optional<Saved> last_;
  bool busy_ = false, over_ = false;
  std::thread thread_;
};

}  // namespace trainyard::session
