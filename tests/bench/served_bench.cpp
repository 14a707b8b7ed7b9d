// SPDX-License-Identifier: GPL-3.0-or-later
// Throughput of two workers that push to a server and pull from it over shared memory, 64 MiB per
// direction and round, compared with memcpy of the same size. Workers compute nothing and the
// server updates nothing, so that only the protocol and the bytes remain. Measurements are in
// pairs, in alternating order, so that a slow period of the machine affects both.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "backends/cpu/cpu.h"
#include "backends/shm/transport.h"
#include "core/base/clock.h"
#include "core/strategy/edit.h"
#include "tests/conformance/training.h"
#include "tests/drawings.h"

namespace {

using namespace trainyard;

constexpr int kPairs = 7, kWorkers = 2, kRounds = 64;  // rounds of both together
constexpr std::int64_t kElements = 16'772'572;         // in 64 MiB there is room for 16,777,216
constexpr double kBytes = 4.0 * static_cast<double>(kElements);

// 4,000 x 4,190 and 4,190 x 2, with biases.
experiment::Experiment of_64_mebibytes() {
  experiment::Experiment e;
  e.topology.hosts = {tests::drawn_host("host0", kWorkers + 1)};
  e.topology.hosts[0].devices.back().role = topology::Role::parameter_server;
  e.data.kind = data::DataKind::blobs;
  e.data.features = 4'000;
  e.data.classes = 2;
  e.data.train_samples = 4'096;
  e.data.held_out_samples = 0;
  e.model.layers = {{model::LayerKind::linear, 4'190}, {model::LayerKind::linear, 0}};
  e.strategy.kind = experiment::StrategyKind::parameter_server;
  e.strategy.bucket_bytes = 1'000'000'000;
  e.training.batch_per_rank = 1;
  e.training.steps = kRounds;
  e.training.optimizer.momentum = 0;
  return e;
}

void exchange_only(plan::RankPlan& rank) {
  for (plan::Program& program : rank.programs)
    strategy::drop_ops(program, [](const plan::Op& op) { return !plan::serves(op.kind); });
}

double exchange_seconds(const experiment::Resolved& resolved) {
  const auto transports = [](int ranks, std::size_t arena_bytes) {
    const int fd =
        shm::create(std::vector<std::size_t>(static_cast<std::size_t>(ranks), arena_bytes), 8)
            .value();
    std::vector<std::unique_ptr<comm::Transport>> ends;
    for (int rank = 0; rank < ranks; ++rank) ends.push_back(shm::open(fd, rank).value());
    ::close(fd);
    return ends;
  };
  const auto ranks = tests::train(
      resolved, [] { return cpu::make().value(); }, transports, {}, {}, exchange_only);
  double seconds = 0;
  for (const tests::RankOutcome& rank : ranks) {
    if (!rank.problem.id.empty()) std::printf("%s\n", base::to_string(rank.problem).c_str());
    seconds = std::max(seconds, rank.seconds);
  }
  return seconds;
}

double copy_seconds() {
  static std::vector<std::byte> from(static_cast<std::size_t>(kBytes), std::byte{1}),
      to(static_cast<std::size_t>(kBytes), std::byte{2});
  const std::int64_t begin = base::now_nanoseconds();
  for (int i = 0; i < 2 * kRounds; ++i) {
    std::memcpy(to.data(), from.data(), to.size());
    asm volatile("" : : "r"(to.data()) : "memory");
  }
  return base::seconds(base::now_nanoseconds() - begin);
}

}  // namespace

int main() {
  const auto checked = experiment::resolve(of_64_mebibytes(), ".");
  if (!checked) return std::printf("%s\n", base::to_string(checked.error()).c_str()), 1;
  const experiment::Resolved& resolved = *checked;
  if (resolved.model.elements != kElements)
    return std::printf("%lld parameters\n", static_cast<long long>(resolved.model.elements)), 1;
  exchange_seconds(resolved), copy_seconds();  // memory that was never touched is slow
  std::vector<double> ratios, rates;
  for (int pair = 0; pair < kPairs; ++pair) {
    const bool first = pair % 2 == 0;
    const double before = first ? copy_seconds() : 0;
    const double exchanged = exchange_seconds(resolved);
    const double copied = first ? before : copy_seconds();
    ratios.push_back(copied / exchanged), rates.push_back(2 * kRounds * kBytes / exchanged);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(rates.begin(), rates.end());
  std::printf(
      "%d workers, 1 server, 64 MiB: push and pull %.2f GB/s  %.2f of memcpy (%.2f to %.2f)  (to "
      "reach: >= 0.7)\n",
      kWorkers, rates[kPairs / 2] * 1e-9, ratios[kPairs / 2], ratios.front(), ratios.back());
  return 0;
}
