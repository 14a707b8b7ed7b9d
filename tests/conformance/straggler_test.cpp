// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are slowed down, before a run and while it goes on. Bounds are lower ones: a busy
// machine is slower still.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "tests/conformance/recorded.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"

namespace trainyard::conformance {
namespace {

using session::Command;
using session::RunState;
using session::Slow;
using session::Status;
using telemetry::Metric;

std::vector<double> values(const telemetry::History& history, Metric metric, int rank) {
  const auto* series = history.find({metric, rank, 0});
  return series ? series->values : std::vector<double>();
}

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

TEST(Stragglers, that_are_drawn_take_longer_train_the_same_and_are_recorded) {
  experiment::Experiment e = session_experiment(3, 40);
  SessionRun plain(e);
  e.topology.hosts[0].devices[1].slow_down = 8;
  SessionRun slow(e);
  const auto a = plain.result(), b = slow.result();
  ASSERT_EQ(state_of(b), "finished");
  EXPECT_EQ(a.result["ranks"][0]["parameters_xxh64"], b.result["ranks"][0]["parameters_xxh64"]);
  const auto history = recorded(b);
  const double compute = sum(values(history, Metric::compute_seconds, 1)),
               imposed = sum(values(history, Metric::imposed_seconds, 1));
  EXPECT_GE(imposed, 0.87 * compute) << "seven of eight parts were imposed";
  EXPECT_LT(imposed, compute);
  EXPECT_THAT(values(history, Metric::slow_down, 1), testing::Each(8));
  EXPECT_THAT(values(history, Metric::imposed_seconds, 0), testing::IsEmpty())
      << "it was not slowed down";
  EXPECT_THAT(values(recorded(a), Metric::slow_down, 1), testing::IsEmpty());
}

TEST(Stragglers, can_be_slowed_down_and_restored_during_the_run) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(5);
  const auto slow = [&](Slow how) {
    return viewer.send({viewer.next_id(), Command::slow, 0, how});
  };
  const Status status = slow({1, 20, 0});
  EXPECT_EQ(status.ranks[1].slow_down, 20);
  EXPECT_EQ(status.ranks[0].slow_down, 1);
  viewer.wait_for_step(status.step + 60);
  const Status freed = slow({1, 1, 0});
  EXPECT_EQ(freed.ranks[1].slow_down, 1);
  viewer.wait_for_step(freed.step + 200);
  viewer.ask(Command::stop);
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "stopped");
  const auto history = recorded(outcome);
  const auto factors = values(history, Metric::slow_down, 1);
  EXPECT_THAT(factors, testing::Contains(20));
  EXPECT_EQ(factors.back(), 1) << "its exit is detected too";
}

TEST(Stragglers, ignore_invalid_requests) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  viewer.wait_for_step(1);
  for (const Slow& how : {Slow{1, 0.5, 0}, Slow{1, 1e9, 0}, Slow{1, 2, -1},
                          Slow{1, std::nan(""), 0}, Slow{7, 2, 0}, Slow{-1, 2, 0}}) {
    const Status status = viewer.send({viewer.next_id(), Command::slow, 0, how});
    for (const auto& rank : status.ranks) EXPECT_EQ(rank.slow_down, 1);
  }
  viewer.ask(Command::stop);
  EXPECT_EQ(state_of(run.result()), "stopped");
}

TEST(Stragglers, do_not_delay_a_second_interrupt) {
  experiment::Experiment e = session_experiment(2, kEndless);
  e.model.layers.front().units = 3000;
  for (auto& device : e.topology.hosts[0].devices) device.slow_down = 1000;
  SessionRun run(e);
  EXPECT_EQ(Viewer(run.client()).wait_for(RunState::running).step, 0);
  run.interrupt();
  run.interrupt();
  const auto begun = base::now_nanoseconds();
  const auto outcome = run.result();
  EXPECT_LT(base::seconds(base::now_nanoseconds() - begun), 5);
  EXPECT_THAT(state_of(outcome), testing::StartsWith("cancelled"));
  EXPECT_EQ(outcome.result["steps"], 0) << "the first step would take a while";
  EXPECT_TRUE(outcome.result["ranks"][0]["parameters_xxh64"].is_null()) << "ranks were killed";
}

TEST(Stragglers, of_paced_ranks_take_the_time_of_the_drawn_device) {
  experiment::Experiment e = session_experiment(2, 10);
  e.run.devices = experiment::DeviceSpeed::paced;
  SessionPieces pieces;
  pieces.drawn_op_times = [](const plan::RankPlan& rank, const plan::Plan&, const topology::Device&,
                             const topology::Host&) -> base::Result<run::OpTimes> {
    run::OpTimes times;
    for (const plan::Program& program : rank.programs)
      times.nanoseconds.emplace_back(program.ops.size(), 2'000'000);
    return times;
  };
  SessionRun run(e, pieces);
  const auto outcome = run.result();
  ASSERT_EQ(state_of(outcome), "finished");
  EXPECT_EQ(outcome.result["devices"], "paced");
  const auto history = recorded(outcome);
  for (int rank = 0; rank < 2; ++rank) {
    const auto compute = values(history, Metric::compute_seconds, rank);
    ASSERT_EQ(compute.size(), 10u);
    // Bound over all steps, because the start of a step may overlap the end of the previous one.
    EXPECT_GE(sum(compute), 10 * 10 * 0.002) << "a step has at least ten compute ops";
    EXPECT_GT(sum(values(history, Metric::imposed_seconds, rank)), 0);
  }
}

// Offloading takes time too: the copies of a step run one after another.
TEST(Stragglers, of_paced_ranks_copy_at_the_speed_of_the_drawn_bus) {
  constexpr std::int64_t kCopy = 3'000'000;  // ns
  experiment::Experiment e = session_experiment(2, 6);
  e.run.devices = experiment::DeviceSpeed::paced;
  e.training.optimizer.kind = experiment::OptimizerKind::adam;
  e.training.swap.optimizer = experiment::OffloadTarget::host;
  std::atomic<std::int64_t> copies{0};
  SessionPieces pieces;
  pieces.drawn_op_times = [&](const plan::RankPlan& rank, const plan::Plan&,
                              const topology::Device&,
                              const topology::Host& host) -> base::Result<run::OpTimes> {
    EXPECT_EQ(host.name, "alpha");
    run::OpTimes times;
    for (const plan::Program& program : rank.programs) {
      auto& of_program = times.nanoseconds.emplace_back(program.ops.size(), 0);
      for (std::size_t o = 0; o < program.ops.size(); ++o)
        if (program.ops[o].kind == plan::OpKind::offload ||
            program.ops[o].kind == plan::OpKind::fetch)
          of_program[o] = kCopy;
      if (program.name == "train") copies = std::ranges::count(of_program, kCopy);
    }
    return times;
  };
  SessionRun run(e, pieces);
  const auto outcome = run.result();
  ASSERT_EQ(state_of(outcome), "finished");
  ASSERT_GT(copies, 2);
  const auto history = recorded(outcome);
  for (int rank = 0; rank < 2; ++rank)
    EXPECT_GE(sum(values(history, Metric::step_seconds, rank)), 5 * base::seconds(copies * kCopy))
        << "the last offload of a step may still be in progress in the next step";
}

}  // namespace
}  // namespace trainyard::conformance
