// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that have but parts of a model, as one device would: what they end with is put together again, and what they say of it added up.
#pragma once

#include "core/check/check.h"
#include "core/experiment/fields.h"
#include "core/experiment/mesh.h"
#include "core/experiment/sent_bytes.h"
#include "tests/conformance/small_training.h"

namespace trainyard::tests {

// The same training on one device.
inline experiment::Experiment on_one(experiment::Experiment e) {
  const experiment::Mesh mesh = experiment::mesh_of(experiment::resolve(e, ".").value());
  e.topology = drawn_hosts(1, 1);
  e.strategy = {};
  e.strategy.kind = experiment::StrategyKind::one_device;
  e.training.batch_per_rank *= mesh.data * e.training.accumulation_steps;
  e.training.accumulation_steps = 1;
  return e;
}

// What several ranks have is the same to the bit, and of what is in no box all have it.
inline std::vector<double> put_together(const experiment::Experiment& e, const std::vector<RankOutcome>& ranks, std::vector<double> RankOutcome::*part) {
  const experiment::Resolved all = experiment::resolve(e, ".").value();
  std::vector<double> whole(static_cast<std::size_t>(all.model.elements), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, "");
    if (!ranks[r].problem.empty()) return whole;
    for (const model::Parameter& own : experiment::of_rank(all, static_cast<int>(r)).model.parameters) {
      const auto at = std::find_if(all.model.parameters.begin(), all.model.parameters.end(), [&](const model::Parameter& p) { return p.name == own.name; });
      for (std::int64_t i = 0; i < own.shape.elements(); ++i) {
        double& element = whole[static_cast<std::size_t>(at->offset + own.in_whole(i))];
        const double value = (ranks[r].*part)[static_cast<std::size_t>(own.offset + i)];
        EXPECT_TRUE(std::isnan(element) || element == value) << own.name << "[" << i << "] of rank " << r;
        element = value;
      }
    }
  }
  return whole;
}

// Of the first part of every stage of the first replica: who tells of a segment what all have alike.
inline std::vector<RankOutcome> tellers(const experiment::Experiment& e, const std::vector<RankOutcome>& ranks) {
  const experiment::Mesh mesh = experiment::mesh_of(experiment::resolve(e, ".").value());
  std::vector<RankOutcome> list;
  for (int stage = 0; stage < mesh.pipeline; ++stage) list.push_back(ranks[static_cast<std::size_t>(mesh.rank_of({0, stage, 0}))]);
  return list;
}

// Parameters after all steps; loss and accuracy of the first step and the last, and of held-out samples; norms of gradients and updates.
inline void expect_as_one_device(const experiment::Experiment& e, const std::vector<RankOutcome>& many, const RankOutcome& one) {
  ASSERT_EQ(one.problem, "");
  EXPECT_LE(distance(put_together(e, many, &RankOutcome::parameters), one.parameters), 1e-10);
  using telemetry::Metric;
  const auto last = static_cast<std::int32_t>(e.training.steps - 1);
  for (const std::int32_t step : {0, last})
    for (const Metric metric : {Metric::loss_sum, Metric::correct, Metric::samples})
      EXPECT_NEAR(sum_of(many, metric, step), sum_of({one}, metric, step), 1e-6) << step;
  for (const Metric metric : {Metric::held_out_loss_sum, Metric::held_out_correct, Metric::held_out_samples})
    EXPECT_NEAR(sum_of(many, metric, last), sum_of({one}, metric, last), 1e-6);
  for (const Metric metric : {Metric::reduced_gradient_norm, Metric::update_ratio})
    EXPECT_NEAR(sum_of(tellers(e, many), metric, 0), sum_of({one}, metric, 0), 1e-8 * (1 + sum_of({one}, metric, 0)));
}

// Steps of which some are tails, and evaluations, byte for byte.
inline void expect_sent_bytes(experiment::Experiment e, const MakeTransports& transports) {
  e.training.steps = 22;
  e.run.evaluate_every_steps = 11;
  const auto wanted = experiment::sent_bytes(experiment::resolve(e, ".").value());
  ASSERT_TRUE(wanted);
  const auto ranks = trained_by(e, transports);
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    EXPECT_EQ(ranks[r].problem, "");
    std::int64_t sent = 0;
    for (const comm::Traffic& to : ranks[r].traffic) sent += static_cast<std::int64_t>(to.sent_payload_bytes);
    EXPECT_EQ(sent, (*wanted)[r]) << "rank " << r;
  }
}

// Coarse, and as it is run.
inline void expect_proved(const experiment::Experiment& e) {
  const experiment::Resolved resolved = experiment::resolve(e, ".").value();
  for (const auto& plan : {strategy::coarse_plan(resolved), strategy::make_plan(resolved)}) {
    ASSERT_TRUE(plan);
    const auto problems = check::check(*plan);
    EXPECT_EQ(problems.empty() ? "" : base::to_string(problems.front()), "");
  }
}

}  // namespace trainyard::tests
