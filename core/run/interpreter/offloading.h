// SPDX-License-Identifier: GPL-3.0-or-later
// Runs the copy lane of a rank (offload and fetch) in its own thread, beside the compute thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "core/plan/frontier.h"
#include "core/run/bind/bound_plan.h"
#include "core/run/control/slowness.h"
#include "core/run/exchange/exchange.h"

namespace trainyard::run {

// Executes the copies of an offload (OUT) or fetch (IN) op, in order.
base::Result<void> carry_out(const BoundOp& op, compute::Compute& compute);

// A completed op of the copy lane.
struct CompletedCopy {
  plan::Frontier::Ready ready;
  std::int64_t begin_ns = 0, end_ns = 0, bytes = 0;
};

class Offloading {
 public:
  // `peers`: the object in which the rank's thread waits for messages of other ranks; a completed
  // copy wakes the thread there. Null for a single rank. `slowness`: paces copies; null: not paced.
  Offloading(const plan::RankPlan& plan, plan::Frontier& frontier, plan::LaneId lane,
             const BoundPlan& bound, compute::Compute& compute, Exchange* peers = nullptr,
             const SlowdownModel* slowness = nullptr);
  ~Offloading();  // stops the thread at any time; waits only for the op in progress
  Offloading(const Offloading&) = delete;
  Offloading& operator=(const Offloading&) = delete;

  // notifies the thread that other lanes have advanced, or that a program was admitted
  void notify_thread();
  // Notifies the copy thread if a copy waits for op `ended`, which another lane has completed.
  void notify_after(const plan::Frontier::Ready& ended) {
    if (awaited_[static_cast<std::size_t>(ended.program)][static_cast<std::size_t>(ended.op)])
      notify_thread();
  }

  // Moves the ops that completed since the last call into `ended`, in order. Returns true if there
  // were any.
  bool take(std::vector<CompletedCopy>& ended);
  // True while the thread may have work, or completed ops wait to be taken.
  bool under_way() const;
  // Waits until a copy op has completed, but at most `limit`.
  void wait(std::chrono::microseconds limit);
  // Returns the copy op that failed, and its Problem; nothing if none failed. After a failure, no
  // further copy runs.
  std::optional<std::pair<plan::Frontier::Ready, base::Problem>> failure() const;

 private:
  const BoundOp& op_of(const plan::Frontier::Ready& ready) const {
    return bound_.programs[static_cast<std::size_t>(ready.program)]
        .ops[static_cast<std::size_t>(ready.op)];
  }
  void run();
  bool carry_out_next();
  void tell(const plan::Frontier::Ready& ready, const base::Result<void>& done,
            std::int64_t begin_ns);
  void hold_back(const plan::Frontier::Ready& ready, std::int64_t begin_ns) const;

  plan::Frontier& frontier_;
  const plan::LaneId lane_;
  const std::vector<std::vector<bool>> awaited_;  // ops that copies wait for, by program and op
  const BoundPlan& bound_;
  compute::Compute& compute_;
  Exchange* const peers_;
  const SlowdownModel* const slowness_;
  // number of notifications of the thread, and number of notifications that it has processed
  std::atomic<std::uint32_t> changes_{0}, settled_{0};
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<CompletedCopy> ended_;
  std::optional<std::pair<plan::Frontier::Ready, base::Problem>> failure_;
  std::thread thread_;  // last member, since it uses all others
};

}  // namespace trainyard::run
