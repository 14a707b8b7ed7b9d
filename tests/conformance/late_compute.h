// SPDX-License-Identifier: GPL-3.0-or-later
// A device that does what it is given later, by a thread of its own, as a GPU does. Whoever looks at what an op leaves before it is done, or overwrites what it
// needs, gets other numbers, and ThreadSanitizer sees why.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/base/clock.h"
#include "core/compute/compute.h"

namespace trainyard::tests {

// How many ops were under way at once, at most.
struct Lateness {
  std::atomic<int> most = 0;
};

class LateQueue final : public compute::Queue {
 public:
  LateQueue(std::unique_ptr<compute::Queue> queue, Lateness* lateness)
      : queue_(std::move(queue)), lateness_(lateness), thread_([this] {
          while (serve()) {
          }
        }) {}
  ~LateQueue() override { give({}); }

  void take(compute::Kernel& kernel) { give({&kernel, 0}); }
  std::uint64_t record() override {
    ++marks_;
    if (lateness_ != nullptr) lateness_->most = std::max(lateness_->most.load(), static_cast<int>(marks_ - reached_));
    give({nullptr, marks_});
    return marks_;
  }
  bool reached(std::uint64_t mark) override { return mark <= reached_; }
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override { return times_[later % times_.size()] - times_[mark % times_.size()]; }
  base::Result<void> state() override { return is_broken_ ? base::fail(problem_) : base::Result<void>(); }

 private:
  struct Work {
    compute::Kernel* kernel = nullptr;
    std::uint64_t mark = 0;  // neither: the end
  };

  void give(Work work) {
    while (given_ - done_ == work_.size()) std::this_thread::yield();
    work_[given_ % work_.size()] = work;
    ++given_;
    given_.notify_one();
  }

  // One more; false at the end.
  bool serve() {
    given_.wait(done_);
    const Work work = work_[done_ % work_.size()];
    if (work.kernel != nullptr && done_ % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
    if (work.kernel != nullptr && !is_broken_) work.kernel->enqueue(*queue_);
    if (work.mark > 0) reach(work.mark);
    ++done_;
    return work.kernel != nullptr || work.mark > 0;
  }

  void reach(std::uint64_t mark) {
    static_cast<void>(queue_->record());
    if (auto ran = queue_->state(); !ran && !is_broken_) problem_ = ran.error(), is_broken_ = true;
    times_[mark % times_.size()] = base::now_nanoseconds();
    reached_ = mark;
  }

  std::unique_ptr<compute::Queue> queue_;
  Lateness* lateness_;
  std::uint64_t marks_ = 0;
  std::array<Work, 256> work_{};
  std::atomic<std::uint64_t> given_ = 0, done_ = 0, reached_ = 0;  // of the work, and the last mark
  std::atomic<bool> is_broken_ = false;
  base::Problem problem_;                              // what it was
  std::array<std::atomic<std::int64_t>, 64> times_{};  // of the last marks
  std::jthread thread_;                                // the last: it uses the others
};

class LateCompute final : public compute::Compute {
 public:
  explicit LateCompute(std::unique_ptr<compute::Compute> compute, Lateness* lateness = nullptr) : compute_(std::move(compute)), lateness_(lateness) {}

  std::string name() const override { return compute_->name(); }
  std::unique_ptr<compute::Queue> make_queue() override { return std::make_unique<LateQueue>(compute_->make_queue(), lateness_); }
  base::Result<compute::Memory> allocate(std::int64_t bytes, const std::string& where) override { return compute_->allocate(bytes, where); }
  base::Result<std::shared_ptr<void>> reach(std::span<std::byte> memory) override { return compute_->reach(memory); }
  bool on_host() const override { return compute_->on_host(); }
  std::optional<compute::DeviceUse> use() const override { return compute_->use(); }
  base::Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    return compute_->prepare(op).map(
        [](std::unique_ptr<compute::Kernel> kernel) -> std::unique_ptr<compute::Kernel> { return std::make_unique<LateKernel>(std::move(kernel)); });
  }
  void sum(base::DType dtype, std::byte* destination, std::span<const std::byte* const> sources, std::int64_t elements) override {
    compute_->sum(dtype, destination, sources, elements);
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override { compute_->copy(destination, source, bytes); }
  void load(const compute::Tensor& destination, std::span<const float> source) override { compute_->load(destination, source); }

 private:
  class LateKernel final : public compute::Kernel {
   public:
    explicit LateKernel(std::unique_ptr<compute::Kernel> kernel) : kernel_(std::move(kernel)) {}
    void enqueue(compute::Queue& queue) override { static_cast<LateQueue&>(queue).take(*kernel_); }

   private:
    std::unique_ptr<compute::Kernel> kernel_;
  };

  std::unique_ptr<compute::Compute> compute_;
  Lateness* lateness_;
};

}  // namespace trainyard::tests
