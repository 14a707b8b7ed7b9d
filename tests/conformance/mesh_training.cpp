// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/conformance/mesh_training.h"

#include <set>

namespace trainyard::tests {
namespace {

// Returns the index of each element in the rank's model: all elements, or its shards of every unit,
// which are adjacent. For gradients that are sharded, only the rank's shards, wherever they are
// stored; -1 if the rank lacks the element.
std::vector<std::int64_t> places_on(const experiment::Resolved& own, int rank, std::size_t elements,
                                    bool to_numerator) {
  std::vector<std::int64_t> places(static_cast<std::size_t>(own.model.elements), -1);
  const bool side_by_side = elements < places.size();
  if (!side_by_side && !to_numerator) std::iota(places.begin(), places.end(), 0);
  std::int64_t at = 0;
  for (const experiment::ElementRange& part : side_by_side || to_numerator
                                                  ? experiment::shards_of_rank(own, rank)
                                                  : std::vector<experiment::ElementRange>{})
    for (std::int64_t i = part.first; i < part.first + part.count; ++i, ++at)
      places[static_cast<std::size_t>(i)] = side_by_side ? at : i;
  return places;
}

// Ranks of the first shard of every stage of the first replica, which report a segment's common
// values.
std::vector<RankOutcome> tellers(const experiment::Experiment& e,
                                 const std::vector<RankOutcome>& ranks) {
  const experiment::Mesh mesh = experiment::mesh_of(experiment::resolve(e, ".").value());
  std::vector<RankOutcome> list;
  for (int stage = 0; stage < mesh.pipeline; ++stage)
    list.push_back(ranks[static_cast<std::size_t>(mesh.rank_of({0, stage, 0}))]);
  return list;
}

}  // namespace

experiment::Experiment meshed(experiment::Experiment e, experiment::Mesh mesh, int micro_batches,
                              experiment::PipelineSchedule schedule) {
  e.strategy.kind = experiment::StrategyKind::hybrid;
  e.strategy.mesh = {
      .data = mesh.data, .pipeline = mesh.pipeline, .tensor = mesh.tensor, .shards_data = false};
  if (mesh.pipeline > 1) e.strategy.stages.schedule = schedule;
  e.training.batch_per_rank = 24 / mesh.data / micro_batches;
  e.training.accumulation_steps = micro_batches;
  e.training.steps = 100;
  e.training.precision = experiment::Precision::fp64;
  return e;
}

experiment::Experiment sharded(experiment::Experiment e, experiment::Shard shard) {
  e.strategy.mesh.shards_data = true;
  e.strategy.fsdp.shard = shard;
  return e;
}

experiment::Experiment with(experiment::Experiment e, experiment::OptimizerKind kind,
                            double clip_norm, collective::Algorithm algorithm) {
  e.training.optimizer = {.kind = kind, .learning_rate = 0.02, .epsilon = 1e-4};
  e.training.clip_norm = clip_norm;
  e.strategy.algorithm = algorithm;
  return e;
}

experiment::Experiment gpt(int ranks, std::int64_t heads, bool tied) {
  experiment::Experiment e = tied ? strategy::small_tied_gpt(ranks) : strategy::small_gpt(ranks);
  e.model.layers[0].width = 2 * heads;
  e.model.layers[1].heads = heads;
  e.model.layers[1].blocks = 2;
  e.training.optimizer.learning_rate = 0.02;
  return e;
}

experiment::Experiment on_hosts(experiment::Experiment e, int hosts, int devices) {
  e.topology = drawn_hosts(hosts, devices);
  return e;
}

std::map<int, double> by_segment(const RankOutcome& rank, telemetry::Metric metric) {
  std::map<int, double> values;
  for (const telemetry::Event& event : rank.events)
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(metric) && event.step == 0)
      values[event.index] = event.value;
  return values;
}

void expect_valid(const experiment::Experiment& e) {
  const auto problems = experiment::validate(e, ".");
  ASSERT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
}

void expect_sent_bytes(experiment::Experiment e) {
  e.training.steps = 22;
  e.run.evaluate_every_steps = 11;
  const auto wanted = experiment::sent_bytes(experiment::resolve(e, ".").value());
  ASSERT_TRUE(wanted);
  const auto ranks = trained(e);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, base::Problem{});
    std::int64_t sent = 0;
    for (const comm::Traffic& to : ranks[r].traffic)
      sent += static_cast<std::int64_t>(to.sent_payload_bytes);
    EXPECT_EQ(sent, (*wanted)[r]) << "rank " << r;
  }
}

void expect_proved(const experiment::Experiment& e) {
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  for (const auto& plan : {strategy::coarse_plan(resolved), strategy::make_plan(resolved)}) {
    ASSERT_TRUE(plan);
    const auto problems = check::check(*plan);
    EXPECT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  }
}

experiment::Experiment on_one(experiment::Experiment e) {
  const experiment::Mesh mesh = experiment::mesh_of(experiment::resolve(e, ".").value());
  e.topology = drawn_hosts(1, 1);
  e.strategy = {};
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.batch_per_rank *= mesh.data * e.training.accumulation_steps;
  e.training.accumulation_steps = 1;
  return e;
}

std::vector<double> assemble(const experiment::Experiment& e, const std::vector<RankOutcome>& ranks,
                             std::vector<double> RankOutcome::*part) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  std::vector<double> whole(static_cast<std::size_t>(all.model.elements),
                            std::numeric_limits<double>::quiet_NaN());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, base::Problem{});
    if (!ranks[r].problem.id.empty()) return whole;
    const experiment::Resolved of_rank = experiment::of_rank(all, static_cast<int>(r));
    const std::vector<std::int64_t> places =
        places_on(of_rank, static_cast<int>(r), (ranks[r].*part).size(),
                  experiment::shards(all) && part == &RankOutcome::gradients);
    for (const model::Parameter& own : of_rank.model.parameters) {
      const auto at = std::find_if(all.model.parameters.begin(), all.model.parameters.end(),
                                   [&](const model::Parameter& p) { return p.name == own.name; });
      for (std::int64_t i = 0; i < own.shape.elements(); ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(own.offset + i)];
        if (place < 0) continue;
        double& element = whole[static_cast<std::size_t>(at->offset + own.index_in_full(i))];
        const double value = (ranks[r].*part)[static_cast<std::size_t>(place)];
        EXPECT_TRUE(std::isnan(element) || element == value)
            << own.name << "[" << i << "] of rank " << r;
        element = value;
      }
    }
  }
  return whole;
}

void expect_as_one_device(const experiment::Experiment& e, const std::vector<RankOutcome>& many,
                          const RankOutcome& one) {
  ASSERT_EQ(one.problem, base::Problem{});
  EXPECT_LE(distance(assemble(e, many, &RankOutcome::parameters), one.parameters), 1e-10);
  using telemetry::Metric;
  const auto last = static_cast<std::int32_t>(e.training.steps - 1);
  for (const std::int32_t step : {0, last})
    for (const Metric metric : {Metric::loss_sum, Metric::correct, Metric::samples})
      EXPECT_NEAR(sum_of(many, metric, step), sum_of({one}, metric, step), 1e-6) << step;
  for (const Metric metric :
       {Metric::held_out_loss_sum, Metric::held_out_correct, Metric::held_out_samples})
    EXPECT_NEAR(sum_of(many, metric, last), sum_of({one}, metric, last), 1e-6);
  for (const Metric metric : {Metric::reduced_gradient_norm, Metric::update_ratio}) {
    const auto wanted = by_segment(one, metric);
    std::set<int> reported;
    for (const RankOutcome& rank : tellers(e, many))
      for (const auto& [segment, value] : by_segment(rank, metric)) {
        reported.insert(segment);
        EXPECT_NEAR(value, wanted.at(segment), 1e-8 * (1 + wanted.at(segment))) << segment;
      }
    EXPECT_EQ(reported.size(), wanted.size());
  }
}

}  // namespace trainyard::tests
