// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "core/experiment/fields.h"
#include "core/experiment/servers.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

inline constexpr auto kSynchronous = experiment::ServerMode::synchronous;
inline constexpr auto kAdam = experiment::OptimizerKind::adam;

struct ServedCase {
  experiment::ServerMode mode = experiment::ServerMode::asynchronous;
  int workers = 1, servers = 1;
  experiment::VariablePlacement placement = experiment::VariablePlacement::balanced;
  experiment::OptimizerKind optimizer = experiment::OptimizerKind::sgd;
  int micro_steps = 1;
  bool tables = false;  // on clicks, whose indices are looked up in a table; else a small network
                        // of other layers

  experiment::Experiment task(std::int64_t batch = 24) const {
    experiment::Experiment e = small(1, batch);
    if (!tables) return e;
    const experiment::Experiment clicks = strategy::small_clicks(1);
    e.model = clicks.model, e.data = clicks.data;
    return e;
  }

  // The batch is per worker, or, if `global_batch` is given, of all workers together.
  experiment::Experiment training(std::int64_t global_batch = 0) const {
    experiment::Experiment e = task();
    e.strategy.kind = experiment::StrategyKind::parameter_server;
    e.strategy.servers.mode = mode;
    e.strategy.servers.placement = placement;
    e.training.optimizer.kind = optimizer;
    e.training.accumulation_steps = micro_steps;
    e.training.batch_per_rank = (global_batch > 0 ? global_batch / workers : 8) / micro_steps;
    e.topology = drawn_hosts(1, workers + servers);
    auto& devices = e.topology.hosts[0].devices;
    for (int server = 0; server < servers; ++server)
      devices[static_cast<std::size_t>(2 * server % (workers + servers))].role =
          topology::Role::parameter_server;
    return e;
  }
};

inline void PrintTo(const ServedCase& c, std::ostream* out) {
  *out << base::name_of(c.mode) << ", " << c.workers << " workers, " << c.servers << " servers, "
       << base::name_of(c.placement) << ", " << base::name_of(c.optimizer) << ", " << c.micro_steps
       << " micro-steps" << (c.tables ? ", tables" : "");
}

// All workers, to the bit.
inline void expect_same_end(const std::vector<RankOutcome>& ranks, int workers) {
  for (const RankOutcome& rank : ranks) ASSERT_EQ(rank.problem, base::Problem{});
  for (int worker = 1; worker < workers; ++worker)
    EXPECT_EQ(ranks[static_cast<std::size_t>(worker)].parameters, ranks[0].parameters) << worker;
}

}  // namespace trainyard::tests
