// SPDX-License-Identifier: GPL-3.0-or-later
// What stands in for a stream of CUDA: a thread that does what it is given, one after another. NCCL's stand-in is given it as a cudaStream_t.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace trainyard::nccl {

class HostStream {
 public:
  HostStream() : thread_([this](const std::stop_token& stop) { serve(stop); }) {}

  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_.push_back(std::move(work));
    changed_.notify_all();
  }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return work_.empty(); });
  }

 private:
  void serve(const std::stop_token& stop) {
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

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::function<void()>> work_;
  std::jthread thread_;  // the last: it uses the others
};

}  // namespace trainyard::nccl
