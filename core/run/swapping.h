// SPDX-License-Identifier: GPL-3.0-or-later
// The copy lane of a rank, carried out by a thread of its own beside the one that computes: what is
// put aside, and what comes back.
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
#include "core/run/bound_plan.h"
#include "core/run/exchange.h"
#include "core/run/slowness.h"

namespace trainyard::run {

// The copies of an OUT or IN, one after the other.
base::Result<void> carry_out(const BoundOp& op, compute::Compute& compute);

// An op that has ended.
struct Swapped {
  plan::Frontier::Ready ready;
  std::int64_t begin_ns = 0, end_ns = 0, bytes = 0;
};

class Swapping {
 public:
  // `peers`: in which the rank may wait just as well, and is woken when something has ended; null:
  // of a rank alone. `slowness`: of a rank whose copies are paced; null: they take what they take.
  Swapping(const plan::RankPlan& plan, plan::Frontier& frontier, plan::LaneId lane,
           const BoundPlan& bound, compute::Compute& compute, Exchange* peers = nullptr,
           const Slowness* slowness = nullptr);
  ~Swapping();  // at any moment; waits for the op that is under way, no longer
  Swapping(const Swapping&) = delete;
  Swapping& operator=(const Swapping&) = delete;

  void look_again();  // other lanes have come further, or an instance was admitted
  // An op of another lane has ended. Nobody is woken for one that no copy waits for.
  void look_after(const plan::Frontier::Ready& ended) {
    if (awaited_[static_cast<std::size_t>(ended.program)][static_cast<std::size_t>(ended.op)])
      look_again();
  }

  // What has ended since it was last asked for, in order, into `ended`. True: there was something.
  bool take(std::vector<Swapped>& ended);
  // An op, or one may start, as not all that is new has been looked at; or what has ended waits to
  // be taken.
  bool under_way() const;
  // Until something has ended, at the latest after `limit`.
  void wait(std::chrono::microseconds limit);
  // The op that failed, and why. Nothing is carried out after it.
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
  const std::vector<std::vector<bool>> awaited_;  // by program and op
  const BoundPlan& bound_;
  compute::Compute& compute_;
  Exchange* const peers_;
  const Slowness* const slowness_;
  std::atomic<std::uint32_t> news_{0}, settled_{0};  // up to which nothing can start any more
  std::atomic<bool> stop_{false};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Swapped> ended_;
  std::optional<std::pair<plan::Frontier::Ready, base::Problem>> failure_;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace trainyard::run
