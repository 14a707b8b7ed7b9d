// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/replay/replay.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/fields.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/experiment/bipartition.h"
#include "core/plan/answers.h"
#include "core/plan/server_events.h"
#include "core/session/checkpoint/resume.h"
#include "core/session/coordinator/journal.h"
#include "core/session/rank/recipe.h"
#include "core/session/replay/order_file.h"
#include "core/session/system/run_documents.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/recorded_documents.h"

namespace trainyard::session {
namespace {

using base::ProblemCode;
using base::Result;
using compute::Tensor;

// Returns the hashes of final weights in the recorded result, by rank; an empty list if the run did
// not finish. The hash of a rank is empty if the rank was gone at the end or holds no parameters.
std::vector<std::string> recorded_hashes(const std::filesystem::path& run_directory) {
  const auto json = base::read_json(run_directory / kResultFile);
  std::vector<std::string> hashes;
  if (!json) return hashes;
  base::Problems ignored;
  for (telemetry::RecordedRank& rank : telemetry::read_result(*json, ignored).ranks)
    hashes.push_back(std::move(rank.parameters_xxh64));
  return hashes;
}

// Recorded run, and the parts that are needed to replay it.
struct ReplayedRun {
  std::filesystem::path directory;
  const experiment::Resolved& resolved;
  const plan::Plan& plan;
  const ReplayServices& services;
  run::Recipe recipe;

  std::filesystem::path order_path() const { return directory / kOrderFile; }
  void set_default_offload_directory(std::string& offload_directory) const {
    if (offload_directory.empty()) offload_directory = directory.string();
  }
  Result<std::unique_ptr<compute::Compute>> make_compute(int rank) const {
    const topology::Network network(resolved.document.topology);
    return services.make_compute(network.device(resolved.ranks[static_cast<std::size_t>(rank)]));
  }
};

// Adds the final weights of the ranks to the result. If hashes were recorded, adds only ranks that
// have a recorded hash.
template <class Parameters>
void weigh(ReplayResult& outcome, const ReplayedRun& run, int ranks, const Parameters& parameters) {
  std::vector<std::string> recorded = recorded_hashes(run.directory);
  recorded.resize(static_cast<std::size_t>(ranks));
  const bool compared =
      std::ranges::any_of(recorded, [](const std::string& hash) { return !hash.empty(); });
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string& text = recorded[static_cast<std::size_t>(rank)];
    const Tensor made = parameters(rank);
    if (compared == !text.empty())
      outcome.weights.push_back(
          {rank, base::hex(base::xxh64({made.data, static_cast<std::size_t>(made.bytes())})),
           text});
  }
}

template <class Event>
struct ReadEvents {
  std::vector<std::vector<Event>> ranks;
  bool torn = false;
};

template <class Event>
Result<ReadEvents<Event>> events_of(
    const ReplayedRun& run, Result<std::vector<Event>> (*read)(std::span<const std::byte>)) {
  const auto written = read_order(run.order_path(), run.plan);
  if (!written) return base::fail(written.error());
  ReadEvents<Event> events{{}, written->torn};
  for (const std::string& bytes : written->ranks) {
    auto own = read(std::as_bytes(std::span(bytes)));
    if (!own) return base::fail(unreadable_order(own.error(), run.order_path()));
    events.ranks.push_back(std::move(*own));
  }
  return events;
}

// Fails if a finished run has an incomplete order.
Result<ReplayResult> expect_complete(ReplayResult outcome, const ReplayedRun& run, bool whole) {
  if (whole || !outcome.compared()) return outcome;
  return base::fail(unreadable_order(
      {"order_incomplete", ProblemCode::bad_input, run.order_path().string(),
       fmt::format(
           "the recorded order ends before the end of the run; {} of its events can be replayed",
           outcome.events),
       "", ""},
      run.order_path()));
}

// Parameter servers

Result<std::unique_ptr<run::ServerReplay>> served_training(const ReplayedRun& run,
                                                           const plan::Plan& plan,
                                                           compute::Compute& compute) {
  auto parts = served_training_parts(run.resolved, plan, run.recipe, compute);
  if (!parts) return base::fail(parts.error());
  auto begins = run.resolved.first_step > 0 ? initial_state(run.resolved)
                                            : Result<InitialState>(InitialState{});
  if (!begins) return base::fail(begins.error());
  if (run.resolved.first_step > 0)
    parts->initialize = [&resolved = run.resolved,
                         begins = std::make_shared<InitialState>(std::move(*begins))](
                            const plan::RankPlan& rank, const run::BoundPlan& bound) {
      initialize(resolved, rank, bound);
      load_initial_state(*begins, resolved, rank, bound);
    };
  parts->first_version = run.resolved.first_version;
  run.set_default_offload_directory(parts->offload_directory);
  return run::ServerReplay::make(std::move(*parts));
}

Result<ReplayResult> replay_servers(const ReplayedRun& run) {
  const auto written = events_of<plan::ServerEvent>(run, plan::served_of);
  if (!written) return base::fail(written.error());
  const auto first = written->ranks.begin() + run.resolved.workers();
  ReplayResult outcome;
  for (const auto& rank : written->ranks) outcome.skipped_events += std::ssize(rank);
  auto order = plan::RecordedOrder::make(std::vector(first, first + run.resolved.servers),
                                         run.resolved.workers());
  if (!order) return base::fail(order.error());

  const plan::Plan plan = plan::without_evaluators(run.plan);
  const auto compute = run.make_compute(0);
  if (!compute) return base::fail(compute.error());
  const auto training = served_training(run, plan, **compute);
  if (!training) return base::fail(training.error());
  for (auto event = order->next(); event && *event; event = order->next()) {
    if (const auto ok = (*training)->follow(**event); !ok) return base::fail(ok.error());
    ++outcome.events, --outcome.skipped_events;
  }
  outcome.gradients = (*training)->gradients();
  weigh(outcome, run, run.resolved.workers(),
        [&](int rank) { return (*training)->parameters(rank); });
  return expect_complete(std::move(outcome), run, !written->torn);
}

// Asynchronous gossip

Result<std::unique_ptr<run::GossipReplay>> make_gossip_replay(const ReplayedRun& run) {
  auto parts = gossip_replay_parts(run.resolved, run.plan, run.recipe);
  if (!parts) return base::fail(parts.error());
  run.set_default_offload_directory(parts->offload_directory);
  std::size_t arena_bytes = 0;
  for (int rank = 0; rank < run.plan.ranks; ++rank) {
    auto compute = run.make_compute(rank);
    if (!compute) return base::fail(compute.error());
    parts->computes.push_back(std::move(*compute));
    arena_bytes = std::max(
        arena_bytes, static_cast<std::size_t>(run::layout(run.plan.rank_plan(rank)).shared_bytes));
  }
  auto transports = run.services.make_transports(run.plan.ranks, arena_bytes,
                                                 static_cast<int>(run.plan.groups.size()));
  if (!transports) return base::fail(transports.error());
  parts->transports = std::move(*transports);
  return run::GossipReplay::make(std::move(*parts));
}

Result<ReplayResult> replay_gossip(const ReplayedRun& run) {
  auto written = events_of<plan::Answer>(run, plan::answers_of);
  if (!written) return base::fail(written.error());
  auto order = plan::RecordedAnswers::make(std::move(written->ranks), run.resolved.first_step);
  if (!order) return base::fail(unreadable_order(order.error(), run.order_path()));
  const auto training = make_gossip_replay(run);
  if (!training) return base::fail(training.error());
  ReplayResult outcome;
  for (auto event = order->next(); event; event = order->next(), ++outcome.events)
    if (const auto ok = (*training)->follow(*event); !ok) return base::fail(ok.error());
  outcome.skipped_events = order->left();
  outcome.gradients = (*training)->steps();
  weigh(outcome, run, run.plan.ranks, [&](int rank) { return (*training)->parameters(rank); });
  return expect_complete(std::move(outcome), run, (*training)->over());
}

}  // namespace

const ReplayResult::Weights& ReplayResult::reported_weights() const {
  const auto other = std::ranges::find_if(
      weights, [](const Weights& one) { return one.parameters_xxh64 != one.recorded_xxh64; });
  return other != weights.end() ? *other : weights.front();
}

Result<ReplayResult> replay_run(const std::filesystem::path& run_directory,
                                const ReplayServices& services) {
  const auto resolved = read_resolved(run_directory);
  if (!resolved) return base::fail(resolved.error());
  const bool in_pairs =
      experiment::is_asynchronous_gossip(resolved->document.strategy) && resolved->world() > 1;
  if (resolved->servers == 0 && !in_pairs)
    return base::fail({"nothing_to_replay", ProblemCode::bad_input, run_directory.string(),
                       "the run has neither parameter servers nor asynchronous gossip, so its "
                       "result does not depend on the order of events",
                       "a run whose ranks record an order",
                       "Run the experiment again: the new run has the same weights."});
  const auto plan = strategy::make_plan(*resolved);
  if (!plan) return base::fail(plan.error());
  const ReplayedRun run{run_directory, *resolved, *plan, services, recipe(*resolved)};
  return in_pairs ? replay_gossip(run) : replay_servers(run);
}

}  // namespace trainyard::session
