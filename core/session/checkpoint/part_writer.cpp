// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/part_writer.h"

#include "core/compute/host_copy.h"

namespace trainyard::session {

PartWriter::PartWriter(std::filesystem::path directory, int rank, std::string name, bool state,
                       const model::Model& model, compute::Compute* device, SavedQueue& box)
    : directory_(std::move(directory)),
      rank_(rank),
      name_(std::move(name)),
      state_(state),
      model_(model),
      device_(device),
      box_(box),
      thread_([this] { serve(); }) {}

PartWriter::~PartWriter() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool PartWriter::offer(std::int64_t step, std::int64_t version,
                       const std::vector<CheckpointSpan>& spans) {
  {
    const std::lock_guard lock(mutex_);
    if (busy_) return false;
  }
  copy_.step = step, copy_.version = version;
  take(spans, copy_);
  const std::lock_guard lock(mutex_);
  busy_ = true;
  changed_.notify_all();
  return true;
}

void PartWriter::take(const std::vector<CheckpointSpan>& spans, Copy& copy) const {
  copy.spans = spans;
  copy.bytes.resize(spans.size());
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const compute::Tensor& values = spans[i].values;
    copy.bytes[i].resize(static_cast<std::size_t>(values.bytes()));
    compute::host_copy(device_, copy.bytes[i].data(), values.data, values.bytes());
    copy.spans[i].values.data = copy.bytes[i].data();
  }
}

// Writes the part unless it has already been written with this step and version. A second file with
// the same content could be removed during the write, because a commit removes files that its
// manifest does not name.
base::Result<void> PartWriter::write_now(std::int64_t step, std::int64_t version,
                                         const std::vector<CheckpointSpan>& spans) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !busy_; });
  if (last_ && last_->step == step && last_->version == version) return {};
  Copy copy;
  if (!compute::is_host_accessible(device_)) take(spans, copy);
  return write(step, version, compute::is_host_accessible(device_) ? spans : copy.spans)
      .map([&](SavedPart part) { box_.put(std::move(part)); });
}

// Builds the file in memory before writing it, so memory may run out.
base::Result<SavedPart> PartWriter::write(std::int64_t step, std::int64_t version,
                                          const std::vector<CheckpointSpan>& spans) const try {
  CheckpointPart part = encode_part(name_, version, model_, spans);
  if (!directory_.empty()) {
    if (auto ok = store_part(directory_, step, part); !ok) return base::fail(ok.error());
    part.content.clear();
  }
  const CheckpointFile& file = part.file;
  return SavedPart{{rank_, step, state_, file.name, file.xxh64, file.bytes, file.version, ""},
                   std::move(part.content)};
} catch (const std::bad_alloc&) {
  return base::fail(base::out_of_memory("rank " + std::to_string(rank_) + ", its checkpoint"));
}

void PartWriter::serve() {
  for (std::unique_lock lock(mutex_);;) {
    changed_.wait(lock, [&] { return busy_ || over_; });
    if (!busy_) return;
    lock.unlock();
    auto saved = write(copy_.step, copy_.version, copy_.spans);
    SavedPart part =
        saved
            ? std::move(*saved)
            : SavedPart{{rank_, copy_.step, state_, "", "", 0, 0, base::to_string(saved.error())}};
    const Saved report = part.report;
    box_.put(std::move(part));
    lock.lock();
    if (saved) last_ = report;
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace trainyard::session
