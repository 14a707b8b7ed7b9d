// SPDX-License-Identifier: GPL-3.0-or-later
// Trains an experiment with ranks as threads, for tests: what each rank ends with, what it sent,
// what it said.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "core/compute/host_copy.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/plan/text.h"
#include "core/run/bind/private_memory.h"
#include "core/run/interpreter/interpreter.h"
#include "core/run/servers/server.h"
#include "core/session/rank/recipe.h"
#include "core/strategy/strategy.h"
#include "tests/conformance/allocations.h"
#include "tests/problem_matchers.h"

namespace trainyard::tests {

struct RankOutcome {
  base::Problem problem;  // without an id if the rank finished
  std::vector<double> parameters, gradients;
  std::vector<double> state;           // running means and variances
  std::vector<comm::Traffic> traffic;  // by peer
  std::vector<telemetry::Event> events;
  double seconds = 0;    // of all steps
  long allocations = 0;  // while they ran, in the rank's thread; where the program counts them
};

enum class Telemetry { on, off };

using MakeCompute = std::function<std::unique_ptr<compute::Compute>()>;
// Another set in the place of the experiment's, for one of the ranks.
using DataOfRank = std::function<std::shared_ptr<const data::Dataset>(
    int rank, std::shared_ptr<const data::Dataset> of_experiment)>;
// Changes the parameters before the first step.
using Change = std::function<void(int rank, const compute::Tensor& parameters)>;
using ChangePlan = std::function<void(plan::RankPlan& plan)>;
using MakeTransports = std::function<std::vector<std::unique_ptr<comm::Transport>>(
    int ranks, std::size_t arena_bytes)>;

// Wherever it lies.
inline std::vector<double> values_of(const compute::Tensor& anywhere,
                                     compute::Compute* device = nullptr) {
  std::vector<std::byte> memory;
  const compute::Tensor tensor = compute::seen(device, anywhere, memory);
  std::vector<double> values(static_cast<std::size_t>(tensor.elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = tensor.dtype == base::DType::fp64 ? tensor.as<double>()[i]
                                                  : static_cast<double>(tensor.as<float>()[i]);
  return values;
}

inline RankOutcome train_rank(const experiment::Resolved& of_all, const plan::Plan& plan, int rank,
                              compute::Compute& compute, comm::Transport* transport,
                              Telemetry telemetry = Telemetry::on, const DataOfRank& data_of = {},
                              run::RankProgress* seen = nullptr, const Change& change = {},
                              run::OrderLog* order = nullptr) {
  RankOutcome outcome;
  const experiment::Resolved resolved = experiment::of_rank(of_all, rank);
  const plan::RankPlan rank_plan = plan.rank_plan(rank);
  const run::Layout layout = run::layout(rank_plan);
  const std::string where = "rank " + std::to_string(rank);
  const auto own = run::PrivateMemory::make(layout, compute, where);
  if (!own) return outcome.problem = own.error(), outcome;
  const std::span<std::byte> shared =
      transport != nullptr ? transport->arena() : std::span<std::byte>{};
  const auto reached = compute.reach(shared);
  if (!reached) return outcome.problem = reached.error(), outcome;
  const run::Recipe recipe = session::recipe(resolved);
  const auto offloaded =
      run::OffloadSpace::make(layout, std::filesystem::temp_directory_path().string(), where);
  if (!offloaded) return outcome.problem = offloaded.error(), outcome;
  const auto bound = run::bind(rank_plan, plan.groups, resolved.model, recipe, compute,
                               own->arena(), shared, &*offloaded);
  if (!bound) return outcome.problem = bound.error(), outcome;
  session::initialize(resolved, rank_plan, *bound);
  if (change) change(rank, bound->parameters);
  const auto dataset = data::open(resolved.document.data, "");
  if (!dataset) return outcome.problem = dataset.error(), outcome;
  auto sampler = experiment::sampler(resolved);
  if (!sampler) return outcome.problem = sampler.error(), outcome;

  run::Gate gate;
  gate.open(resolved.steps, true);
  run::RankProgress rank_progress;
  telemetry::EventRing events(1 << 18);
  run::InterpreterParts parts{&rank_plan,
                              plan.schedule,
                              &*bound,
                              &resolved.model,
                              &recipe,
                              &compute,
                              transport,
                              data_of ? data_of(rank, *dataset) : *dataset,
                              std::move(*sampler),
                              resolved.held_out(rank),
                              1,
                              telemetry == Telemetry::on ? &events : nullptr,
                              true,
                              &gate,
                              seen != nullptr ? seen : &rank_progress};
  parts.share = experiment::share_of(resolved, rank);
  parts.order = order;
  const std::int64_t begin = base::now_nanoseconds();
  const long allocated = conformance::allocations;
  const auto steps = rank_plan.rule
                         ? run::Server(session::server_parts(resolved, plan, parts)).run()
                         : run::Interpreter(parts).run();
  outcome.allocations = conformance::allocations - allocated;
  outcome.seconds = static_cast<double>(base::now_nanoseconds() - begin) * 1e-9;
  if (!steps) {
    outcome.problem = steps.error();
    if (transport != nullptr) transport->abort(steps.error());
  }
  if (!bound->parameters.empty()) outcome.parameters = values_of(bound->parameters, &compute);
  if (!bound->state.empty()) outcome.state = values_of(bound->state, &compute);
  const char* gradients =
      rank_plan.buffer("grad_shard").valid() ? "grad_shard" : "grads";  // of what the rank updates
  for (std::size_t b = 0; b < rank_plan.buffers.size(); ++b)
    if (rank_plan.buffers[b].name == gradients) {
      const auto& place = layout.buffers[b];
      std::byte* const data = place.shared ? shared.data() + place.offset
                                           : own->arena().memory.data() + place.offset -
                                                 (compute.on_host() ? 0 : layout.result_bytes);
      outcome.gradients =
          values_of({rank_plan.buffers[b].dtype, {rank_plan.buffers[b].elements}, data},
                    place.shared ? nullptr : &compute);
    }
  for (int peer = 0; transport != nullptr && peer < transport->ranks(); ++peer)
    outcome.traffic.push_back(peer == rank ? comm::Traffic{} : transport->traffic(peer));
  events.read(outcome.events, 1 << 18);
  return outcome;
}

// One thread a rank; a rank alone has no transport. `orders`: by rank.
inline std::vector<RankOutcome> train(const experiment::Resolved& resolved,
                                      const MakeCompute& make_compute,
                                      const MakeTransports& make_transports,
                                      const DataOfRank& data_of = {}, const Change& change = {},
                                      const ChangePlan& change_plan = {},
                                      std::vector<run::OrderLog>* orders = nullptr) {
  plan::Plan plan = strategy::make_plan(resolved).value();
  if (change_plan)
    plan.rank_plan = [made = plan.rank_plan, &change_plan](std::int32_t rank) {
      plan::RankPlan changed = made(rank);
      change_plan(changed);
      return changed;
    };
  const int ranks = resolved.world();
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(ranks));
  std::vector<std::unique_ptr<comm::Transport>> transports(static_cast<std::size_t>(ranks));
  std::int64_t shared_bytes = 0;  // ranks need not do the same
  for (int rank = 0; rank < ranks; ++rank)
    shared_bytes = std::max(shared_bytes, run::layout(plan.rank_plan(rank)).shared_bytes);
  if (ranks > 1) transports = make_transports(ranks, static_cast<std::size_t>(shared_bytes));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto compute = make_compute();
      outcomes[static_cast<std::size_t>(rank)] = train_rank(
          resolved, plan, rank, *compute, transports[static_cast<std::size_t>(rank)].get(),
          Telemetry::on, data_of, nullptr, change,
          orders != nullptr ? &(*orders)[static_cast<std::size_t>(rank)] : nullptr);
    });
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

inline double norm(const std::vector<double>& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

// Relative distance in the L2 norm over all elements.
inline double distance(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a.size());
  std::transform(a.begin(), a.end(), b.begin(), difference.begin(), std::minus<>());
  return norm(difference) / norm(b);
}

}  // namespace trainyard::tests
