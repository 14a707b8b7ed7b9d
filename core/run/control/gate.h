// SPDX-License-Identifier: GPL-3.0-or-later
// Limit up to which a rank may run steps (the horizon). The session raises the horizon; the
// interpreter waits when it reaches it. Thread-safe.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace trainyard::run {

class Gate {
 public:
  // Raises the horizon: allows steps below `step`. The horizon never decreases. `last`: no higher
  // horizon will follow. `single`: the user is single-stepping and inspects step `step` - 1.
  void open(std::int64_t step, bool last, bool single = false) {
    const std::lock_guard lock(mutex_);
    if (step > step_ && single) looked_at_ = step - 1;
    if (step > step_) step_ = step;
    last_ = last_ || last;
    changed_.notify_all();
  }
  void close() {  // stops the rank immediately
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  enum class Answer { go, finish, closed };
  Answer wait_for(std::int64_t step) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || step < step_ || last_; });
    return closed_ ? Answer::closed : step < step_ ? Answer::go : Answer::finish;
  }
  // Returns what `wait_for` would return, or nothing where `wait_for` would wait.
  std::optional<Answer> ask(std::int64_t step) const {
    const std::lock_guard lock(mutex_);
    if (!closed_ && step >= step_ && !last_) return std::nullopt;
    return closed_ ? Answer::closed : step < step_ ? Answer::go : Answer::finish;
  }
  bool admits(std::int64_t step) const {
    const std::lock_guard lock(mutex_);
    return !closed_ && step < step_;
  }
  // Current horizon: steps below `step` may run; `last`: no higher horizon will follow.
  struct Horizon {
    std::int64_t step = 0;
    bool last = false;
  };
  Horizon horizon() const {
    const std::lock_guard lock(mutex_);
    return {step_, last_};
  }
  // Rank that writes the state that all ranks share (checkpoints).
  void set_chief(int rank) { chief_.store(rank, std::memory_order_relaxed); }
  int chief() const { return chief_.load(std::memory_order_relaxed); }

  // Failed peers, by rank and generation of the connection. One thread reports them, another takes
  // them.
  using Gone = std::vector<std::pair<int, std::uint32_t>>;
  void report_failed_peer(int rank, std::uint32_t generation) {
    const std::lock_guard lock(mutex_);
    gone_.emplace_back(rank, generation);
    any_gone_.store(true, std::memory_order_release);
  }
  Gone take_failed_peers() {  // returns the peers that were reported since the last call
    if (!any_gone_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    any_gone_.store(false, std::memory_order_release);
    return std::exchange(gone_, {});
  }
  bool looked_at(std::int64_t step) const {
    return looked_at_.load(std::memory_order_relaxed) == step;
  }  // true if the user inspects `step`, a step below the horizon
  bool closed() const {
    const std::lock_guard lock(mutex_);
    return closed_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::int64_t step_ = 0;
  std::atomic<std::int64_t> looked_at_{-1};
  std::atomic<int> chief_{0};
  std::atomic<bool> any_gone_{false};
  Gone gone_;
  bool last_ = false, closed_ = false;
};

}  // namespace trainyard::run
