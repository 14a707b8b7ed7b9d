// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous device with its own thread, like a GPU. Code that reads an op's result too early, or
// overwrites its input, gets wrong numbers, and ThreadSanitizer reports the reason.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/clock.h"
#include "core/compute/compute.h"
#include "core/compute/ops.h"

namespace trainyard::tests {

// Maximum number of ops in progress at once, and the number of ops in chains.
struct Lateness {
  std::atomic<int> most = 0, chained = 0;
};

class DelayedQueue final : public compute::Queue {
 public:
  DelayedQueue(std::unique_ptr<compute::Queue> queue, Lateness* lateness)
      : queue_(std::move(queue)), lateness_(lateness), thread_([this] {
          while (serve()) {
          }
        }) {}
  ~DelayedQueue() override { give({}); }

  void take(compute::Kernel& kernel) {
    if (kept_ != nullptr) kept_->push_back(&kernel);
    else give({&kernel, 0});
  }
  void take(const std::vector<compute::Kernel*>& kernels) {
    for (compute::Kernel* const kernel : kernels) {
      if (kernel != nullptr) take(*kernel);
      else record();
    }
  }
  std::uint64_t last_mark() const { return marks_; }
  // Appends kernels that are enqueued from now on to `kept` instead, with a null for each mark.
  // Nothing may wait for them.
  void keep(std::vector<compute::Kernel*>& kept) { kept_ = &kept; }
  void keep_no_more() { kept_ = nullptr; }

  std::uint64_t record() override {
    if (kept_ != nullptr) return kept_->push_back(nullptr), 0;
    ++marks_;
    if (lateness_ != nullptr)
      lateness_->most = std::max(lateness_->most.load(), static_cast<int>(marks_ - reached_));
    give({nullptr, marks_});
    return marks_;
  }
  bool reached(std::uint64_t mark) override {
    if (kept_ != nullptr)
      std::fputs("something waits for what is only kept, as what is captured in a graph\n", stderr),
          std::abort();
    return mark <= reached_;
  }
  std::int64_t between(std::uint64_t mark, std::uint64_t later) override {
    return times_[later % times_.size()] - times_[mark % times_.size()];
  }
  base::Result<void> state() override {
    return is_broken_ ? base::fail(problem_) : base::Result<void>();
  }

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
    if (work.kernel != nullptr && done_ % 8 == 0)
      std::this_thread::sleep_for(std::chrono::microseconds(20));
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
  std::vector<compute::Kernel*>* kept_ = nullptr;
  std::array<Work, 256> work_{};
  std::atomic<std::uint64_t> given_ = 0, done_ = 0, reached_ = 0;  // of the work, and the last mark
  std::atomic<bool> is_broken_ = false;
  base::Problem problem_;                               // what it was
  std::array<std::atomic<std::int64_t>, 128> times_{};  // of the last marks
  std::jthread thread_;                                 // the last: it uses the others
};

class AsynchronousCompute final : public compute::Compute {
 public:
  using BeforeFirst = std::function<void()>;

  // `before_first` goes before what a device may wait with for all that it is at: memory, a kernel
  // that is new to it, a graph that is made, room for more samples, and the first of them that come
  // as bytes.
  explicit AsynchronousCompute(
      std::unique_ptr<compute::Compute> compute, Lateness* lateness = nullptr,
      BeforeFirst before_first = [] {})
      : compute_(std::move(compute)), lateness_(lateness), before_first_(std::move(before_first)) {}

  std::string name() const override { return compute_->name(); }
  std::unique_ptr<compute::Queue> make_queue() override {
    return std::make_unique<DelayedQueue>(compute_->make_queue(), lateness_);
  }
  base::Result<compute::Memory> allocate(std::int64_t bytes, const std::string& where) override {
    return before_first_(), compute_->allocate(bytes, where);
  }
  base::Result<compute::Memory> allocate_host_visible(std::int64_t bytes,
                                                      const std::string& where) override {
    return before_first_(), compute_->allocate_host_visible(bytes, where);
  }
  base::Result<std::shared_ptr<void>> reach(std::span<std::byte> memory) override {
    return compute_->reach(memory);
  }
  base::Result<compute::ExportedMemory> allocate_exported(std::int64_t bytes,
                                                          std::span<const int> to,
                                                          const std::string& where) override {
    return compute_->allocate_exported(bytes, to, where);
  }
  base::Result<compute::Memory> import_memory(const std::string& name,
                                              const std::string& where) override {
    return compute_->import_memory(name, where);
  }
  bool on_host() const override { return compute_->on_host(); }
  std::optional<compute::DeviceUse> use() const override { return compute_->use(); }
  base::Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    before_first_();
    return compute_->prepare(op).map(
        [this](std::unique_ptr<compute::Kernel> kernel) -> std::unique_ptr<compute::Kernel> {
          return std::make_unique<DelayedKernel>(std::move(kernel), before_first_);
        });
  }
  std::unique_ptr<compute::Chain> chain(std::vector<std::vector<compute::Kernel*>> ops) override {
    return std::make_unique<DelayedChain>(std::move(ops), lateness_, before_first_);
  }
  void sum(base::DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    compute_->sum(dtype, destination, sources, elements);
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    compute_->copy(destination, source, bytes);
  }
  void load(const compute::Tensor& destination, std::span<const float> source) override {
    make_room(destination.bytes());
    compute_->load(destination, source);
  }
  void load_bytes(const compute::Tensor& destination, std::span<const std::uint8_t> source,
                  std::span<const float, 256> value_of) override {
    if (std::exchange(bytes_are_new_, false)) before_first_();
    compute_->load_bytes(destination, source, value_of);
  }

 private:
  class DelayedKernel final : public compute::Kernel {
   public:
    DelayedKernel(std::unique_ptr<compute::Kernel> kernel, const BeforeFirst& before_first)
        : kernel_(std::move(kernel)), before_first_(before_first) {}
    void enqueue(compute::Queue& queue) override {
      if (std::exchange(is_new_, false)) before_first_();
      static_cast<DelayedQueue&>(queue).take(*kernel_);
    }

   private:
    std::unique_ptr<compute::Kernel> kernel_;
    const BeforeFirst& before_first_;
    bool is_new_ = true;
  };

  // A graph: the second time it keeps what its kernels enqueue, and from then on does not ask them.
  class DelayedChain final : public compute::Chain {
   public:
    DelayedChain(std::vector<std::vector<compute::Kernel*>> ops, Lateness* lateness,
                 const BeforeFirst& before_first)
        : ops_(std::move(ops)), lateness_(lateness), before_first_(before_first) {}
    std::uint64_t enqueue(compute::Queue& queue) override {
      auto& late = static_cast<DelayedQueue&>(queue);
      if (++times_ == 2) before_first_(), late.keep(kept_);
      if (times_ <= 2) ask(late);
      if (times_ == 2) late.keep_no_more();
      if (times_ >= 2) late.take(kept_);
      if (lateness_ != nullptr) lateness_->chained += static_cast<int>(ops_.size());
      return late.last_mark() + 1 - ops_.size();
    }

   private:
    void ask(DelayedQueue& queue) {
      for (const auto& op : ops_) {
        for (compute::Kernel* const kernel : op) kernel->enqueue(queue);
        queue.record();
      }
    }

    std::vector<std::vector<compute::Kernel*>> ops_;
    std::vector<compute::Kernel*> kept_;  // null: a mark
    Lateness* lateness_;
    const BeforeFirst& before_first_;
    int times_ = 0;
  };

  void make_room(std::int64_t bytes) {
    if (bytes <= room_bytes_) return;
    room_bytes_ = bytes;
    before_first_();
  }

  std::unique_ptr<compute::Compute> compute_;
  Lateness* lateness_;
  BeforeFirst before_first_;
  std::int64_t room_bytes_ = 0;
  bool bytes_are_new_ = true;
};

}  // namespace trainyard::tests
