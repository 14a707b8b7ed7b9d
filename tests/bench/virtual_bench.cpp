// SPDX-License-Identifier: GPL-3.0-or-later
// How many gradients a second workers on the virtual clock compute, beside a plain training loop of
// the same model and batch; both on one core. A pair at a time, in either order, so that a machine
// that is slow for a while is slow for both.
#include <sched.h>

#include <algorithm>
#include <cstdio>

#include "backends/cpu/cpu.h"
#include "core/base/clock.h"
#include "core/experiment/document.h"
#include "core/sim/served_clock.h"
#include "tests/conformance/training.h"
#include "tests/drawings.h"

namespace {

using namespace trainyard;

constexpr int kPairs = 9, kSteps = 2'048;

// The example's: 784-256-128-10 on batches of 32. Pixels of drawn digits, so that no file is asked
// for.
experiment::Experiment small_mlp() {
  experiment::Experiment e =
      experiment::load(TRAINYARD_SOURCE_DIR
                       "/resources/experiments/four_workers_parameter_server_digits.json")
          .value();
  e.data = {};
  e.data.train_samples = 1'024;  // soon drawn, and in memory from then on
  e.data.held_out_samples = 0;
  e.training.steps = kSteps;
  e.run.evaluate_every_steps = 0;
  return e;
}

double plain_seconds(experiment::Experiment e, compute::Compute& compute) {
  e.topology.hosts = {tests::drawn_host("host0", 1)};
  e.topology.links.clear();
  e.strategy = {};
  e.strategy.kind = experiment::StrategyKind::one_device;
  const auto resolved = experiment::resolve(e, ".").value();
  const tests::RankOutcome outcome =
      tests::train_rank(resolved, strategy::make_plan(resolved).value(), 0, compute, nullptr);
  if (!outcome.problem.id.empty()) std::printf("%s\n", base::to_string(outcome.problem).c_str());
  return outcome.seconds;
}

double virtual_seconds(experiment::Experiment e, int workers, compute::Compute& compute) {
  e.topology.hosts = {tests::drawn_host("host0", workers + 1)};
  e.topology.links.clear();
  e.topology.hosts[0].devices.back().role = topology::Role::parameter_server;
  for (topology::Device& device : e.topology.hosts[0].devices)
    device.jitter = device.role == topology::Role::worker ? 0.3 : 0;
  const auto resolved = experiment::resolve(e, ".").value();
  const auto plan = strategy::make_plan(resolved).value();
  const run::Recipe recipe = session::recipe(resolved);
  auto parts = session::served_training_parts(resolved, plan, recipe, compute).value();
  std::vector<std::unique_ptr<telemetry::EventRing>> rings;
  for (int rank = 0; rank < plan.ranks; ++rank)
    rings.push_back(std::make_unique<telemetry::EventRing>(1 << 12));
  parts.events = [&](int rank) { return rings[static_cast<std::size_t>(rank)].get(); };
  const auto training = run::ServerReplay::make(std::move(parts)).value();
  const auto clock = sim::ServerClock::make(
                         {&plan, std::make_shared<topology::Network>(resolved.document.topology),
                          resolved.ranks, 1})
                         .value();
  clock->allow(kSteps, true);
  const std::int64_t begin = base::now_nanoseconds();
  for (auto event = clock->next(); event && *event; event = clock->next())
    if (const auto ok = training->follow(**event); !ok)
      std::printf("%s\n", base::to_string(ok.error()).c_str());
  const double seconds = base::seconds(base::now_nanoseconds() - begin);
  if (training->gradients() != kSteps)
    std::printf("computed %lld gradients, not %d\n", static_cast<long long>(training->gradients()),
                kSteps);
  return seconds;
}

void pin_to_core() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  if (::sched_setaffinity(0, sizeof one, &one) != 0) std::printf("cannot stay on one core\n");
}

void bench(int workers, compute::Compute& compute) {
  std::vector<double> ratios, rates;
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool first = pair % 2 == 0;
    const double before = first ? plain_seconds(small_mlp(), compute) : 0;
    const double made = virtual_seconds(small_mlp(), workers, compute);
    const double plain = first ? before : plain_seconds(small_mlp(), compute);
    ratios.push_back(plain / made), rates.push_back(kSteps / made);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(rates.begin(), rates.end());
  std::printf("%3d virtual workers  %7.0f gradients/s  %.2f of a plain loop's (%.2f to %.2f)%s\n",
              workers, rates[kPairs / 2], ratios[kPairs / 2], ratios.front(), ratios.back(),
              workers == 64 ? "  (to reach: >= 0.8)" : "");
}

}  // namespace

// Numbers of workers, one figure each.
int main(int count, char** arguments) {
  pin_to_core();
  const auto compute = cpu::make().value();
  std::vector<int> workers;
  for (int i = 1; i < count; ++i) workers.push_back(std::max(1, std::atoi(arguments[i])));
  for (const int one : workers.empty() ? std::vector{1, 8, 32, 64} : workers) bench(one, *compute);
  return 0;
}
