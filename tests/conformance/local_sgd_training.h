// SPDX-License-Identifier: GPL-3.0-or-later
// Local SGD with real ranks, for every kind of transport: what it sends and when, and, where no
// step is taken, how ranks and their center move.
#pragma once

#include "core/experiment/local_sgd.h"
#include "tests/conformance/gossip_training.h"

namespace trainyard::tests {

inline experiment::Experiment meeting_every(std::int64_t steps, int ranks,
                                            std::int64_t global_batch = 24) {
  experiment::Experiment e = small(ranks, global_batch);
  e.strategy.kind = experiment::StrategyKind::local_sgd;
  e.strategy.local_sgd.average_every_steps = steps;
  return e;
}

inline std::int64_t sent_payload(const RankOutcome& rank) {
  std::int64_t bytes = 0;
  for (const comm::Traffic& to : rank.traffic)
    bytes += static_cast<std::int64_t>(to.sent_payload_bytes);
  return bytes;
}

// Bytes sent by each rank in a run of `steps` steps without evaluations.
inline std::vector<std::int64_t> sent_in(experiment::Experiment e, std::int64_t steps,
                                         const MakeTransports& transports) {
  e.training.steps = steps;
  e.data.held_out_samples = 0;
  std::vector<std::int64_t> sent;
  for (const RankOutcome& rank : trained_by(e, transports)) {
    EXPECT_EQ(rank.problem, base::Problem{});
    sent.push_back(sent_payload(rank));
  }
  return sent;
}

// A rank sends at every fifth step what mirrored sends in each step, and nothing in between. The
// final sum is the same in runs of any length.
inline void expect_one_all_reduce_in_five_steps(experiment::LocalRule rule,
                                                const MakeTransports& transports) {
  experiment::Experiment e = meeting_every(5, 3);
  e.strategy.local_sgd.rule = rule;
  experiment::Experiment all = e;
  all.strategy.kind = experiment::StrategyKind::mirrored;
  const auto two = sent_in(all, 2, transports), one = sent_in(all, 1, transports);
  const auto four = sent_in(e, 4, transports), five = sent_in(e, 5, transports),
             nine = sent_in(e, 9, transports), twenty = sent_in(e, 20, transports);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    const std::int64_t step = two[rank] - one[rank];
    EXPECT_GT(step, 0);
    EXPECT_EQ(four[rank], step) << "the last sum alone";
    EXPECT_EQ(five[rank], 2 * step);
    EXPECT_EQ(nine[rank], 2 * step);
    EXPECT_EQ(twenty[rank], 5 * step);
  }
}

// No rank takes a step. All start at multiples of one vector: rank i at starts[i] times it, the
// center at the vector itself.
struct Multiples {
  std::vector<double>
      starts;  // powers of two, so that the center is the same everywhere to the bit

  Change change() const {
    return [this](int rank, const compute::Tensor& parameters) {
      for (std::int64_t i = 0; i < parameters.elements(); ++i)
        parameters.as<double>()[i] *= starts[static_cast<std::size_t>(rank)];
    };
  }
  // The center is not taken from the rank's own start; and each rank ends with what it has, so that
  // it may be seen.
  ChangePlan change_plan(bool end_with_center) const {
    return [this, end_with_center](plan::RankPlan& plan) {
      for (plan::Program& program : plan.programs)
        for (plan::Op& op : program.ops)
          if (program.name == "start") scale(op, starts[static_cast<std::size_t>(plan.rank)]);
      if (!end_with_center)
        std::erase_if(plan.programs,
                      [](const plan::Program& program) { return program.name == "end"; });
    };
  }

 private:
  static void scale(plan::Op& op, double start) {
    op.weights = start >= 1 ? plan::Weights{{1}, std::llround(start)}
                            : plan::Weights{{std::llround(1 / start)}, 1};
  }
};

// x_i <- x_i - alpha (x_i - c), c <- c + n alpha (m - c), in numbers.
struct Elastic {
  std::vector<double> ranks;
  double center = 1;

  void meet(double alpha) {
    double mean = 0;
    for (const double rank : ranks) mean += rank / static_cast<double>(ranks.size());
    const double before = center;
    center += static_cast<double>(ranks.size()) * alpha * (mean - before);
    for (double& rank : ranks) rank -= alpha * (rank - before);
  }
  double sum() const { return std::accumulate(ranks.begin(), ranks.end(), center); }
};

inline double ratio_of(const std::vector<double>& values, const std::vector<double>& of) {
  return std::inner_product(values.begin(), values.end(), of.begin(), 0.0) /
         std::inner_product(of.begin(), of.end(), of.begin(), 0.0);
}

// The sum of all ranks and the center stays as it is; the mean's distance from the center shrinks
// by 1 - alpha - n alpha at every meeting, and each rank's from the mean by 1 - alpha: m' - c' = (1
// - alpha) m + alpha c - (1 - n alpha) c - n alpha m, and x' - m' = (1 - alpha) (x - m).
inline void expect_elastic_moves(double alpha, const MakeTransports& transports) {
  SCOPED_TRACE(alpha);
  experiment::Experiment e = meeting_every(2, 4, 32);
  e.strategy.local_sgd.rule = experiment::LocalRule::elastic;
  e.strategy.local_sgd.elasticity = alpha;
  e.training.optimizer = {
      .kind = experiment::OptimizerKind::sgd, .learning_rate = 0, .momentum = 0};
  const Multiples apart{{2, 0.5, 4, 1}};
  experiment::Experiment still = e;
  still.strategy.kind = experiment::StrategyKind::mirrored;
  still.training.steps = 1;
  const auto whole = trained_by(still, transports)[0].parameters;
  Elastic expected{apart.starts};
  const double sum = expected.sum(), gap = 0.875 /* the mean less the center */, off = 4 - 1.875;
  for (int meetings = 1; meetings <= 4; ++meetings) {
    expected.meet(alpha);
    EXPECT_NEAR(expected.sum(), sum, 1e-12);
    EXPECT_NEAR((sum - expected.center) / 4 - expected.center,
                gap * std::pow(1 - alpha - 4 * alpha, meetings), 1e-12);
    EXPECT_NEAR(expected.ranks[2] - (sum - expected.center) / 4,
                off * std::pow(1 - alpha, meetings), 1e-12);
    e.training.steps = 2 * meetings + 1;
    const auto resolved = experiment::resolve(e, ".").value();
    const auto run = [&](bool end_with_center) {
      return train(resolved, compute::reference::make, transports, {}, apart.change(),
                   apart.change_plan(end_with_center));
    };
    const auto ranks = run(false), centers = run(true);
    for (std::size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(ranks[i].problem, base::Problem{});
      ASSERT_EQ(centers[i].problem, base::Problem{});
      EXPECT_NEAR(ratio_of(ranks[i].parameters, whole), expected.ranks[i], 1e-11)
          << "rank " << i << " after " << meetings;
      EXPECT_NEAR(ratio_of(centers[i].parameters, whole), expected.center, 1e-11)
          << "after " << meetings;
      EXPECT_EQ(centers[i].parameters, centers[0].parameters);
    }
  }
}

inline void expect_local_sgd(const MakeTransports& transports) {
  expect_one_all_reduce_in_five_steps(experiment::LocalRule::average, transports);
  expect_one_all_reduce_in_five_steps(experiment::LocalRule::elastic, transports);
  expect_elastic_moves(0.225, transports);
}

}  // namespace trainyard::tests
