// SPDX-License-Identifier: GPL-3.0-or-later
// Parameter servers on the virtual clock, with real gradients; and real runs computed again from
// the order that they went in.
#include "tests/conformance/served_training.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <thread>

#include "backends/inproc/transport.h"
#include "tests/conformance/served_case.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests {
namespace {

using experiment::ServerMode;
using plan::ServerEvent;
using telemetry::Metric;

// Training of `steps` updates by workers with these slow-downs. Computation dominates; transfers
// take almost no time.
experiment::Experiment drawn(ServerMode mode, const std::vector<double>& slow_downs,
                             std::int64_t steps, double jitter = 0) {
  experiment::Experiment e = ServedCase{mode, static_cast<int>(slow_downs.size())}.training();
  e.training.steps = steps;
  e.data.train_samples = 320, e.data.held_out_samples = 0;  // every round is alike
  for (topology::Host& host : e.topology.hosts) {
    host.bus_bandwidth_bits_per_second = 1e15, host.bus_latency_seconds = 0;
    std::size_t worker = 0;
    for (topology::Device& device : host.devices) {
      device.memory_bandwidth_bytes_per_second = 1e13,
      device.peak_flops = device.role == topology::Role::worker ? 1e6 : 1e13;
      if (device.role == topology::Role::worker)
        device.slow_down = slow_downs[worker++], device.jitter = jitter;
    }
  }
  return e;
}

std::vector<ServerEvent> ordered(const experiment::Experiment& e) {
  const auto resolved = experiment::resolve(e, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  return order_of(*clock_of(resolved, plan));
}

struct Staleness {
  double sum = 0, most = 0;
  std::int64_t count = 0;
  double mean() const { return sum / static_cast<double>(count); }
};
std::map<int, Staleness> staleness_by_worker(const std::vector<ServerEvent>& order) {
  std::map<int, Staleness> of;
  for (const ServerEvent& event : order)
    if (event.kind == ServerEvent::Kind::takes && !event.dropped) {
      Staleness& one = of[event.worker];
      one.sum += static_cast<double>(event.staleness),
          one.most = std::max(one.most, static_cast<double>(event.staleness)), ++one.count;
    }
  return of;
}
double mean_staleness(const std::vector<ServerEvent>& order) {
  Staleness all;
  for (const auto& [worker, one] : staleness_by_worker(order))
    all.sum += one.sum, all.count += one.count;
  return all.mean();
}
double updates_per_second(const std::vector<ServerEvent>& order) {
  std::int64_t updates = 0, last_ns = 0;
  for (const ServerEvent& event : order)
    if (event.kind == ServerEvent::Kind::takes && event.completes)
      ++updates, last_ns = event.time_ns;
  return static_cast<double>(updates) / (static_cast<double>(last_ns) * 1e-9);
}
std::vector<double> even(int workers) {
  return std::vector<double>(static_cast<std::size_t>(workers), 1.0);
}

class VirtualClock : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Workers, VirtualClock, testing::Values(2, 4, 8));

TEST_P(VirtualClock, asynchronous_staleness_is_the_workers_minus_one) {
  const int workers = GetParam();
  EXPECT_NEAR(mean_staleness(ordered(drawn(ServerMode::asynchronous, even(workers), 2000, 0.5))),
              workers - 1, 0.02 * (workers - 1));
}

TEST_P(VirtualClock, workers_of_equal_speed_take_turns) {
  const int workers = GetParam();
  std::int64_t taken = 0;
  for (const ServerEvent& event : ordered(drawn(ServerMode::asynchronous, even(workers), 2000))) {
    if (event.kind != ServerEvent::Kind::takes) continue;
    EXPECT_EQ(event.staleness, std::min<std::int64_t>(taken, workers - 1));
    EXPECT_EQ(event.worker, taken % workers);
    ++taken;
  }
  EXPECT_EQ(taken, 2000);
}

TEST_P(VirtualClock, softsync_divides_the_staleness) {
  const int workers = GetParam();
  experiment::Experiment e = drawn(ServerMode::softsync, even(workers), 4000, 0.5);
  e.strategy.servers.softsync = workers / 2;
  EXPECT_NEAR(mean_staleness(ordered(e)), workers / 2 * (1 - 1.0 / workers), 0.02 * workers / 2);
}

// Each of the others pushes five times while the straggler computes once (of eight: 35), and meets
// its update once in five rounds.
TEST_P(VirtualClock, straggler_is_as_stale_as_the_others_are_fast) {
  const int workers = GetParam(), straggler = workers / 2;
  std::vector<double> slow_downs = even(workers);
  slow_downs[static_cast<std::size_t>(straggler)] = 5;
  const auto order = ordered(drawn(ServerMode::asynchronous, slow_downs, 2000, 0.1));
  EXPECT_NEAR(mean_staleness(order), workers - 1, 0.02 * (workers - 1));
  for (const auto& [worker, of] : staleness_by_worker(order)) {
    const double expected = worker == straggler ? 5 * (workers - 1) : workers - 2 + 0.2;
    EXPECT_NEAR(of.mean(), expected, 0.02 * std::max(expected, workers - 1.0)) << worker;
  }
}

TEST(VirtualClock, bound_delays_workers_that_are_ahead) {
  for (const std::int64_t bound : {0, 1, 3}) {
    std::vector<double> slow_downs = even(4);
    slow_downs[1] = 6;
    experiment::Experiment e = drawn(ServerMode::stale_synchronous, slow_downs, 1000, 0.3);
    e.strategy.servers.bound = bound;
    std::map<int, std::int64_t> clocks;
    for (int worker = 0; worker < 4; ++worker) clocks[worker] = 0;
    std::int64_t most_ahead = 0;
    for (const ServerEvent& event : ordered(e)) {
      if (event.kind != ServerEvent::Kind::takes) continue;
      ++clocks[event.worker];
      EXPECT_LE(event.staleness, (2 * bound + 1) * 3);
      const auto [least, most] =
          std::minmax_element(clocks.begin(), clocks.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
      most_ahead = std::max(most_ahead, most->second - least->second);
    }
    EXPECT_EQ(most_ahead, bound + 1)
        << "of pushed rounds; the next does not start before the slowest";
  }
}

// Ho et al.: a reader at clock c sees every update that is stamped c - s - 1 or less, and its own;
// here of whatever came since as well.
TEST(VirtualClock, bounded_reads_include_local_writes_and_all_old_enough_ones) {
  for (const std::int64_t bound : {0, 2}) {
    experiment::Experiment e = drawn(ServerMode::stale_synchronous, {1, 1, 6, 2}, 400, 0.3);
    e.strategy.servers.bound = bound;
    std::vector<std::int64_t> clocks(4),
        applied(4);  // by worker: gradients that it has pushed, and versions that they are in
    std::int64_t versions = 0, reads = 0;
    for (const ServerEvent& event : ordered(e)) {
      const auto worker = static_cast<std::size_t>(event.worker);
      if (event.kind == ServerEvent::Kind::takes) ++clocks[worker], applied[worker] = ++versions;
      if (event.kind != ServerEvent::Kind::gives || event.last) continue;
      ++reads;
      EXPECT_GE(event.version, applied[worker]) << "its own writes";
      EXPECT_EQ(event.version, versions)
          << "of the newest parameters, which include all applied gradients";
      EXPECT_GE(*std::ranges::min_element(clocks), clocks[worker] - bound);
    }
    EXPECT_GT(reads, 390);
  }
}

// Ananthanarayanan et al. and Chen et al.: who waits for all is as slow as the slowest; who takes
// what comes, or leaves out the last, is not.
TEST(VirtualClock, straggler_of_four_delays_only_workers_that_wait) {
  std::vector<double> slow_downs = even(4);
  slow_downs[2] = 5;
  const auto speed = [&](ServerMode mode, const std::vector<double>& of) {
    return updates_per_second(ordered(drawn(mode, of, 2000)));
  };
  const double undisturbed = speed(ServerMode::synchronous, even(4)),
               alone = speed(ServerMode::asynchronous, {1});
  EXPECT_NEAR(speed(ServerMode::synchronous, slow_downs) / undisturbed, 1.0 / 5, 0.01);
  EXPECT_GE(speed(ServerMode::asynchronous, slow_downs), 0.9 * (3 + 1.0 / 5) * alone);
  EXPECT_GE(speed(ServerMode::backup_workers, slow_downs), 0.9 * undisturbed);
}

// The coordinator may change the step limit at any time; nothing depends on when it does.
class StepLimit : public testing::TestWithParam<ServerMode> {};
INSTANTIATE_TEST_SUITE_P(VirtualClock, StepLimit,
                         testing::Values(ServerMode::asynchronous, ServerMode::softsync,
                                         ServerMode::stale_synchronous, ServerMode::synchronous,
                                         ServerMode::backup_workers),
                         [](const auto& one) { return std::string(base::name_of(one.param)); });

TEST_P(StepLimit, piecewise_gives_the_same_order) {
  for (const double server_bytes_per_second : {1e13, 1e6}) {  // idle, or busy most of the time
    experiment::Experiment e = drawn(GetParam(), even(4), 200, 0.5);
    e.topology.hosts[0].devices[1].slow_down = 3;
    for (topology::Device& device : e.topology.hosts[0].devices)
      if (device.role == topology::Role::parameter_server)
        device.memory_bandwidth_bytes_per_second = server_bytes_per_second;
    const auto resolved = experiment::resolve(e, ".").value();
    const auto plan = strategy::make_plan(resolved).value();
    for (const std::int64_t piece : {1, 3, 7}) {
      auto clock = sim::ServerClock::make(
                       {&plan, std::make_shared<topology::Network>(resolved.document.topology),
                        resolved.ranks, e.training.seed})
                       .value();
      std::vector<ServerEvent> order;
      for (std::int64_t allowed = piece; !clock->over(); allowed += piece) {
        clock->allow(std::min<std::int64_t>(allowed, 200), allowed >= 200);
        for (int i = 0; i < 3; ++i)
          if (const auto event = clock->next(); event && *event) order.push_back(**event);
      }
      EXPECT_EQ(order, order_of(*clock_of(resolved, plan))) << piece;
    }
  }
}

TEST(VirtualClock, slow_server_slows_the_run) {
  experiment::Experiment e = drawn(ServerMode::asynchronous, even(4), 200);
  for (topology::Device& device : e.topology.hosts[0].devices)
    if (device.role == topology::Role::parameter_server)
      device.memory_bandwidth_bytes_per_second = 1e6;
  const double drawn_speed = updates_per_second(ordered(e));
  for (topology::Device& device : e.topology.hosts[0].devices)
    if (device.role == topology::Role::parameter_server) device.slow_down = 10;
  EXPECT_NEAR(drawn_speed / updates_per_second(ordered(e)), 10, 1);
}

class VirtualTraining : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(
    Servers, VirtualTraining,
    testing::Values(ServedCase{ServerMode::asynchronous, 8, 1},
                    ServedCase{ServerMode::asynchronous, 3, 2, {}, experiment::OptimizerKind::adam},
                    ServedCase{ServerMode::softsync, 4, 1},
                    ServedCase{ServerMode::synchronous, 4, 2},
                    ServedCase{ServerMode::backup_workers, 4, 1},
                    ServedCase{ServerMode::stale_synchronous, 4, 3}));

TEST_P(VirtualTraining, is_reproducible_bit_for_bit) {
  const experiment::Experiment e = GetParam().training();
  const ServedOutcome once = train_virtually(e), again = train_virtually(e);
  ASSERT_EQ(once.problem, base::Problem{});
  EXPECT_EQ(once.order, again.order);
  EXPECT_EQ(once.parameters, again.parameters);
  EXPECT_GT(norm(once.parameters[0]), 0);
}

TEST(VirtualTraining, of_many_virtual_workers_is_reproducible_bit_for_bit) {
  for (const int workers : {32, 64}) {
    experiment::Experiment e = ServedCase{ServerMode::asynchronous, workers}.training();
    for (topology::Device& device : e.topology.hosts[0].devices)
      device.jitter = device.role == topology::Role::worker ? 0.3 : 0;
    e.training.steps = 4 * workers;
    const ServedOutcome once = train_virtually(e), again = train_virtually(e);
    ASSERT_EQ(once.problem, base::Problem{});
    EXPECT_EQ(once.order, again.order);
    EXPECT_EQ(once.parameters, again.parameters);
    EXPECT_EQ(staleness_by_worker(once.order).size(), static_cast<std::size_t>(workers))
        << "all workers pushed";
  }
}

TEST_P(VirtualTraining, workers_end_with_the_parameters_of_the_servers) {
  const ServedCase& c = GetParam();
  const ServedOutcome outcome = train_virtually(c.training());
  ASSERT_EQ(outcome.problem, base::Problem{});
  for (int worker = 1; worker < c.workers; ++worker)
    EXPECT_EQ(outcome.parameters[static_cast<std::size_t>(worker)], outcome.parameters[0]);
}

// With plain SGD the update gives the gradient; two runs that were identical until then are
// compared.
TEST(DelayCompensation, adds_the_first_order_correction_to_a_late_gradient) {
  for (const int servers : {1, 3}) {
    experiment::Experiment e = ServedCase{ServerMode::asynchronous, 3, servers}.training();
    e.training.optimizer.momentum = e.training.optimizer.weight_decay = 0;
    e.training.precision = experiment::Precision::fp64;
    const auto plain = experiment::resolve(e, ".").value();
    e.strategy.servers.delay_compensation = 0.7;
    const auto compensated = experiment::resolve(e, ".").value();
    const auto order = order_of(*clock_of(plain, strategy::make_plan(plain).value()));
    const auto late = std::find_if(order.begin(), order.end(),
                                   [](const ServerEvent& event) { return event.staleness > 0; });
    ASSERT_NE(late, order.end());
    const auto until = [&](const experiment::Resolved& resolved, std::ptrdiff_t events) {
      return follow(resolved, strategy::make_plan(resolved).value(),
                    {order.begin(), order.begin() + events})
          .parameters;
    };
    const auto before = until(plain, late - order.begin()),
               missed = until(plain, late - order.begin() + 1);
    ASSERT_EQ(before, until(compensated, late - order.begin())) << "no gradient was late yet";
    const auto made = until(compensated, late - order.begin() + 1);
    const auto gave =
        std::find_if(std::make_reverse_iterator(late), order.rend(), [&](const ServerEvent& event) {
          return event.kind == ServerEvent::Kind::gives && event.worker == late->worker &&
                 event.server == late->server;
        });
    const auto then = until(plain, order.rend() - gave);
    const double rate = experiment::learning_rate(plain.document.training, 0, plain.steps);
    const auto server = static_cast<std::size_t>(3 + late->server);
    std::size_t differing = 0;
    for (std::size_t i = 0; i < before[server].size(); ++i) {
      const double now = before[server][i], gradient = (now - missed[server][i]) / rate;
      const double expected = gradient + 0.7 * gradient * gradient * (now - then[server][i]);
      ASSERT_NEAR((now - made[server][i]) / rate, expected, 1e-9 * (1 + std::abs(expected)));
      differing += made[server][i] != missed[server][i] ? 1 : 0;
    }
    EXPECT_GT(differing, 0U);
  }
}

TEST(DelayCompensation, with_one_worker_changes_nothing) {
  experiment::Experiment e = ServedCase{ServerMode::asynchronous, 1}.training();
  const ServedOutcome plain = train_virtually(e);
  e.strategy.servers.delay_compensation = 2;
  EXPECT_EQ(train_virtually(e).parameters, plain.parameters);
}

double last_of(const std::vector<std::vector<telemetry::Event>>& ranks, Metric metric) {
  double value = -1;
  std::int32_t step = -1;
  for (const auto& events : ranks)
    for (const telemetry::Event& event : events)
      if (event.kind == telemetry::EventKind::metric &&
          event.subject == static_cast<std::uint16_t>(metric) && event.step >= step)
        step = event.step, value = event.value;
  return value;
}

TEST_P(VirtualTraining, reduces_the_loss) {
  experiment::Experiment e = GetParam().training();
  e.training.optimizer.momentum = 0;
  e.training.steps = 400;
  const ServedOutcome outcome = train_virtually(e);
  ASSERT_EQ(outcome.problem, base::Problem{});
  EXPECT_GE(last_of(outcome.events, Metric::held_out_correct),
            0.9 * static_cast<double>(e.data.held_out_samples));
}

// A single worker has no other workers beside it: it computes the same as one device.
TEST(VirtualTraining, with_one_worker_equals_one_device_bit_for_bit) {
  const experiment::Experiment e = ServedCase{ServerMode::asynchronous, 1, 1}.training();
  experiment::Experiment alone = small(1, 8);
  alone.strategy.kind = experiment::StrategyKind::one_device;
  const auto one = trained_by(
      alone, [](int, std::size_t) { return std::vector<std::unique_ptr<comm::Transport>>(); });
  const ServedOutcome outcome = train_virtually(e);
  ASSERT_EQ(outcome.problem, base::Problem{});
  EXPECT_EQ(outcome.parameters[0], one[0].parameters);
}

class ServerReplayOfRun : public testing::TestWithParam<ServedCase> {};
INSTANTIATE_TEST_SUITE_P(
    Servers, ServerReplayOfRun,
    testing::Values(
        ServedCase{ServerMode::asynchronous, 4, 1}, ServedCase{ServerMode::asynchronous, 8, 3},
        ServedCase{ServerMode::asynchronous, 3, 2, experiment::VariablePlacement::round_robin,
                   experiment::OptimizerKind::adam},
        ServedCase{ServerMode::softsync, 4, 2}, ServedCase{ServerMode::stale_synchronous, 4, 2},
        ServedCase{ServerMode::synchronous, 4, 3}, ServedCase{ServerMode::backup_workers, 4, 1},
        ServedCase{ServerMode::asynchronous, 4, 1, {}, experiment::OptimizerKind::sgd, 1, true},
        ServedCase{ServerMode::asynchronous, 3, 2, {}, experiment::OptimizerKind::adam, 2, true},
        ServedCase{ServerMode::softsync, 4, 2, {}, experiment::OptimizerKind::sgd, 1, true},
        ServedCase{
            ServerMode::stale_synchronous, 4, 3, {}, experiment::OptimizerKind::sgd, 1, true},
        ServedCase{ServerMode::backup_workers, 4, 1, {}, experiment::OptimizerKind::sgd, 1, true}));

// A run of threads went as it happened to go; who knows in which order its servers did what they
// did, comes to the same weights. Servers add up and give the named rows of tables alone; here all
// of every table are computed with, so nothing of what was not named can have been forgotten.
void expect_computed_again(const experiment::Experiment& e) {
  const auto resolved = experiment::resolve(e, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  std::vector<run::OrderLog> logs(static_cast<std::size_t>(resolved.world()));
  const auto real = train(
      resolved, compute::reference::make,
      [](int ranks, std::size_t arena_bytes) {
        return inproc::make(ranks, arena_bytes, {64}).value();
      },
      {}, {}, {}, &logs);
  std::vector<std::vector<ServerEvent>> servers;
  for (int rank = resolved.workers(); rank < resolved.world(); ++rank) {
    const std::string bytes = logs[static_cast<std::size_t>(rank)].take();
    servers.push_back(plan::served_of(std::as_bytes(std::span(bytes))).value());
  }
  auto order = plan::RecordedOrder::make(servers, resolved.workers()).value();
  const ServedOutcome again = follow(resolved, plan, order_of(order));
  ASSERT_EQ(again.problem, base::Problem{});
  EXPECT_TRUE(order.over());
  for (int worker = 0; worker < resolved.workers(); ++worker) {
    ASSERT_EQ(real[static_cast<std::size_t>(worker)].problem, base::Problem{});
    EXPECT_EQ(again.parameters[static_cast<std::size_t>(worker)],
              real[static_cast<std::size_t>(worker)].parameters);
  }
}

TEST_P(ServerReplayOfRun, real_run_is_replayed_bit_for_bit) {
  experiment::Experiment e = GetParam().training();
  const bool late = e.strategy.servers.mode == ServerMode::asynchronous;
  e.strategy.servers.delay_compensation = late && GetParam().tables ? 0.3 : 0;
  expect_computed_again(e);
}

// Servers keep the version that each worker computes with; the replay has it of the worker.
TEST(DelayCompensation, of_a_real_run_is_replayed_bit_for_bit) {
  for (const ServerMode mode : {ServerMode::asynchronous, ServerMode::softsync}) {
    SCOPED_TRACE(base::name_of(mode));
    experiment::Experiment e = ServedCase{mode, 4, 1}.training();
    e.strategy.servers.softsync = 2;
    e.strategy.servers.delay_compensation = 0.3;
    expect_computed_again(e);
  }
}

// Threads come when they come: one after another, as processes do. The first server's order is that
// of rounds.
TEST(VirtualTraining, real_run_keeps_its_bound_with_late_workers) {
  experiment::Experiment e = ServedCase{ServerMode::stale_synchronous, 4, 1}.training();
  e.strategy.servers.bound = 1;
  e.training.steps = 80;
  const auto resolved = experiment::resolve(e, ".").value();
  std::atomic<int> made{0};
  const auto late = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30 * made++));
    return compute::reference::make();
  };
  std::vector<run::OrderLog> logs(static_cast<std::size_t>(resolved.world()));
  const auto real = train(
      resolved, late,
      [](int ranks, std::size_t arena_bytes) {
        return inproc::make(ranks, arena_bytes, {64}).value();
      },
      {}, {}, {}, &logs);
  ASSERT_EQ(real[0].problem, base::Problem{});
  const std::string bytes = logs.back().take();
  std::vector<std::int64_t> rounds(static_cast<std::size_t>(resolved.workers()));
  std::int64_t all = 0;
  const std::vector<ServerEvent> order = plan::served_of(std::as_bytes(std::span(bytes))).value();
  for (const ServerEvent& event : order) {
    if (event.kind != ServerEvent::Kind::takes) continue;
    ++rounds[static_cast<std::size_t>(event.worker)], ++all;
    EXPECT_LE(std::ranges::max(rounds) - std::ranges::min(rounds), e.strategy.servers.bound + 1)
        << "after " << all;
  }
  EXPECT_EQ(all, 80);
}

// Dropped gradients are determined by the step number, which a worker receives.
TEST(VirtualTraining, dropped_gradients_are_dropped_in_replay) {
  experiment::Experiment e = ServedCase{ServerMode::asynchronous, 3, 1}.training();
  e.model.layers.insert(e.model.layers.begin() + 2,
                        {.kind = model::LayerKind::dropout, .probability = 0.3});
  const auto resolved = experiment::resolve(e, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  std::vector<run::OrderLog> logs(static_cast<std::size_t>(resolved.world()));
  const auto real = train(
      resolved, compute::reference::make,
      [](int ranks, std::size_t arena_bytes) {
        return inproc::make(ranks, arena_bytes, {64}).value();
      },
      {}, {}, {}, &logs);
  ASSERT_EQ(real[0].problem, base::Problem{});
  const std::string bytes = logs.back().take();
  auto order = plan::RecordedOrder::make({plan::served_of(std::as_bytes(std::span(bytes))).value()},
                                         resolved.workers())
                   .value();
  EXPECT_EQ(follow(resolved, plan, order_of(order)).parameters[0], real[0].parameters);
}

TEST(VirtualTraining, non_finite_gradient_stops_the_run) {
  experiment::Experiment e = ServedCase{ServerMode::asynchronous, 2, 1}.training();
  e.training.optimizer.learning_rate = 1e5;
  e.training.non_finite = experiment::NonFinite::stop;
  EXPECT_THAT(train_virtually(e).problem,
              base::IsProblem("non_finite_gradient", testing::HasSubstr("rank ")));
}

TEST(VirtualTraining, arrival_order_depends_on_the_seed) {
  experiment::Experiment e = drawn(ServerMode::asynchronous, even(4), 100, 0.5);
  const auto one = ordered(e);
  ++e.training.seed;
  EXPECT_NE(one, ordered(e));
}

// Otherwise 64 workers would each copy the parameters.
TEST(VirtualTraining, parameters_of_one_server_are_read_in_place) {
  const auto in_place = [](const ServedCase& c) {
    const auto resolved = experiment::resolve(c.training(), ".").value();
    const auto plan = strategy::make_plan(resolved).value();
    const run::Recipe recipe = session::recipe(resolved);
    const auto compute = compute::reference::make();
    const auto training =
        run::ServerReplay::make(
            session::served_training_parts(resolved, plan, recipe, *compute).value())
            .value();
    const std::byte* const server = training->parameters(resolved.workers()).data;
    return training->parameters(0).data == server && training->parameters(1).data == server;
  };
  EXPECT_TRUE(in_place({ServerMode::asynchronous, 2, 1}));
  EXPECT_FALSE(in_place({ServerMode::asynchronous, 2, 2}))
      << "each server has a shard, and shards are copied into one buffer";
}

TEST(VirtualTraining, impossible_order_is_refused) {
  const auto resolved =
      experiment::resolve(ServedCase{ServerMode::asynchronous, 2, 1}.training(), ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  ServerEvent takes;
  takes.kind = ServerEvent::Kind::takes;
  EXPECT_THAT(follow(resolved, plan, {takes}).problem,
              base::IsProblem("gradient_not_computed", "server 0, worker 0"));
  takes.worker = 2;
  EXPECT_THAT(follow(resolved, plan, {takes}).problem,
              base::IsProblem("unknown_rank", "server 0, worker 2"));
}

}  // namespace
}  // namespace trainyard::tests
