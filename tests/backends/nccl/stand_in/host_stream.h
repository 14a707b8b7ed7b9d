// SPDX-License-Identifier: GPL-3.0-or-later
// Substitute for a CUDA stream: a thread that executes its work in order. NCCL's substitute gets it
// as a cudaStream_t.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace trainyard::nccl {

class HostStream {
 public:
  using All = std::vector<std::unique_ptr<HostStream>>;

  // One of the streams of a rank.
  explicit HostStream(const All& of_rank)
      : of_rank_(of_rank), thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty(); });
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return work_.empty();
  }
  // All of the rank's: there is nothing on its device.
  bool rank_is_idle() const {
    return std::ranges::all_of(of_rank_, [](const auto& stream) { return stream->is_idle(); });
  }

 private:
  // It is the device, and reaches what is kept for that
  // (tests/backends/cuda/host/exported_memory.h).
  static void take_all_keys() {
    const int key = ::pkey_alloc(0, 0);
    if (key < 0) return;  // the processor has none
    for (int other = 1; other < 16; ++other) ::pkey_set(other, 0);
    ::pkey_free(key);
  }

  void serve(const std::stop_token& stop) {
    take_all_keys();
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [&] { return !work_.empty(); })) {
      const std::function<void()> work = work_.front();
      lock.unlock();
      work();
      lock.lock();
      work_.pop_front();
      changed_.notify_all();
    }
  }

  const All& of_rank_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> work_;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace trainyard::nccl
