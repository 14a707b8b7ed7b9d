// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/replay/sample_order.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>
#include <vector>

#include "core/base/units.h"
#include "core/data/micro_batches.h"
#include "core/experiment/mesh.h"
#include "core/experiment/stages.h"
#include "core/run/bind/loaded_samples.h"
#include "core/run/interpreter/interpreter.h"
#include "core/session/system/run_documents.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/history.h"

namespace trainyard::session {
namespace {

using base::Result;
using telemetry::History;
using telemetry::Metric;

// Rank that takes samples, and the steps that it completed.
struct Taker {
  int rank = 0;
  std::set<std::int64_t> steps;
  data::MicroBatches micro_batches;
};

Result<void> expect_all_events(const History& history, const std::filesystem::path& run_directory) {
  const auto fail = [&](std::string what) {
    return base::fail({"recording_incomplete", base::ProblemCode::bad_input, run_directory.string(),
                       std::move(what), "a recording that has all events", ""});
  };
  if (!history.damage().empty()) return fail(history.damage());
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const auto* dropped = history.find({Metric::dropped_events, rank, 0});
        dropped != nullptr && dropped->values.back() > 0)
      return fail(fmt::format("rank {} could not send {}, so its steps are not all known", rank,
                              base::counted(std::llround(dropped->values.back()), "event")));
  return {};
}

std::set<std::int64_t> steps_of(const History& history, int rank) {
  const auto* samples = history.find({Metric::samples, rank, 0});
  return samples == nullptr ? std::set<std::int64_t>()
                            : std::set<std::int64_t>(samples->steps.begin(), samples->steps.end());
}

bool loads_columns(const plan::RankPlan& rank) {
  return std::ranges::any_of(rank.programs, [](const plan::Program& program) {
    return std::ranges::any_of(program.ops, [](const plan::Op& op) {
      return op.kind == plan::OpKind::load && op.columns.any();
    });
  });
}

bool trains_on_samples(const plan::RankPlan& rank) {
  return run::loads(rank) && !plan::is_evaluator(rank);
}

// Returns the division of a rank's samples into micro-steps, as its interpreter makes it.
data::MicroBatches micro_batches_of(const experiment::Resolved& e, const plan::RankPlan& plan,
                                    const data::Sampler& sampler) {
  const experiment::Resolved local = experiment::of_rank(e, plan.rank);
  const int share = experiment::share_of(local, plan.rank);
  return {sampler, share < 0 ? plan.rank : share, run::micro_step_samples(plan, local.model),
          loads_columns(plan) ? data::Rows::all : data::Rows::own};
}

Result<std::vector<Taker>> takers_of(const experiment::Resolved& e, const History& history) {
  const auto plan = strategy::coarse_plan(e);
  if (!plan) return base::fail(plan.error());
  // Rank 0 of data_parallel scatters the samples by the shares of the experiment.
  const auto sampler = e.on_rank_0() ? data::Sampler(e.document.training.seed, e.shares(), {})
                                     : experiment::sampler(e);
  if (!sampler) return base::fail(sampler.error());
  std::vector<Taker> takers;
  for (int rank = 0; rank < e.workers(); ++rank) {
    const plan::RankPlan rank_plan = plan->rank_plan(rank);
    if (e.on_rank_0())
      takers.push_back(
          {rank, steps_of(history, rank), {*sampler, rank, e.global_batch, data::Rows::own}});
    else if (trains_on_samples(rank_plan))
      takers.push_back({rank, steps_of(history, rank), micro_batches_of(e, rank_plan, *sampler)});
  }
  return takers;
}

void write_lines(std::int64_t step, std::int64_t micro, int rank,
                 const std::vector<std::int64_t>& samples, std::ostream& out) {
  for (std::size_t position = 0; position < samples.size(); ++position)
    out << fmt::format("{},{},{},{},{}\n", step, micro, rank, position, samples[position]);
}

void write_step(std::int64_t step, std::vector<Taker>& takers, std::ostream& out) {
  std::vector<Taker*> active;
  for (Taker& taker : takers)
    if (taker.steps.contains(step)) active.push_back(&taker);
  data::MicroBatch batch;
  for (std::int64_t micro = 0; !active.empty(); ++micro)
    std::erase_if(active, [&](Taker* taker) {
      taker->micro_batches.take(step, micro, batch);
      write_lines(step, micro, taker->rank, batch.indices, out);
      return batch.last;
    });
}

}  // namespace

Result<void> write_sample_order(const std::filesystem::path& run_directory, std::ostream& out) {
  const auto resolved = read_resolved(run_directory);
  if (!resolved) return base::fail(resolved.error());
  const auto history = History::load(run_directory);
  if (!history) return base::fail(history.error());
  if (const auto complete = expect_all_events(*history, run_directory); !complete) return complete;
  auto takers = takers_of(*resolved, *history);
  if (!takers) return base::fail(takers.error());
  std::set<std::int64_t> steps;
  for (const Taker& taker : *takers) steps.insert(taker.steps.begin(), taker.steps.end());
  out << "step,micro_step,rank,position,sample\n";
  for (const std::int64_t step : steps) write_step(step, *takers, out);
  return {};
}

}  // namespace trainyard::session
