// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/offloading.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "core/compute/reference/reference.h"

namespace trainyard::run {
namespace {

// Exchange of a rank that waits for peers and records that it was woken.
class Waiting final : public Exchange {
 public:
  int waits_for() const override { return -1; }
  bool wait(std::chrono::microseconds limit) override {
    return woken_.wait_for(limit) == std::future_status::ready;
  }
  void wake() override {
    if (!woken_once_.exchange(true)) woken_signal_.set_value();
  }
  base::Result<void> state() const override { return {}; }

 private:
  base::Result<bool> advance(Transfer&, std::int64_t&) override { return false; }

  std::atomic<bool> woken_once_{false};
  std::promise<void> woken_signal_;
  std::future<void> woken_ = woken_signal_.get_future();
};

// One program, of one OUT.
plan::RankPlan plan_of_a_copy() {
  plan::RankPlan plan;
  plan.lanes = {{"copy", plan::LaneKind::copy, -1}};
  plan::Op out;
  out.kind = plan::OpKind::offload;
  out.lane = plan::LaneId(0);
  plan::Program program;
  program.name = "train";
  program.ops = {out};
  plan.programs = {program};
  return plan;
}

BoundPlan bound_to(std::span<std::byte> near, std::byte* home) {
  BoundPlan bound;
  BoundOp out;
  out.kind = plan::OpKind::offload;
  out.copies = {{near.data(), home, nullptr, 0, std::ssize(near)}};
  bound.programs.emplace_back();
  bound.programs[0].ops.push_back(std::move(out));
  return bound;
}

// Or it would sleep on, until a message comes or its patience ends, with what it waits for long
// there.
TEST(Offloading, wakes_a_rank_that_waits_for_peers_when_a_copy_ends) {
  const plan::RankPlan plan = plan_of_a_copy();
  std::vector<std::byte> near(100'000, std::byte{7}), home(near.size());
  const BoundPlan bound = bound_to(near, home.data());
  const auto compute = compute::reference::make();
  plan::Frontier frontier(plan);
  Waiting peers;
  Offloading offloading(plan, frontier, plan::LaneId(0), bound, *compute, &peers);
  frontier.admit(0, 0);
  offloading.notify_thread();
  ASSERT_TRUE(peers.wait(std::chrono::seconds(20)));
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // it has nothing more to do by then
  EXPECT_TRUE(offloading.under_way()) << "completed ops are not collected yet";
  std::vector<CompletedCopy> ended;
  ASSERT_TRUE(offloading.take(ended)) << "woken when there is something to see";
  EXPECT_EQ(ended.front().bytes, std::ssize(near));
  for (int i = 0; i < 2000 && offloading.under_way(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_FALSE(offloading.under_way());
  EXPECT_TRUE(frontier.instance_complete(0));
  EXPECT_EQ(home, near);
}

}  // namespace
}  // namespace trainyard::run
