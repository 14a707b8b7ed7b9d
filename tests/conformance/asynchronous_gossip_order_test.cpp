// SPDX-License-Identifier: GPL-3.0-or-later
// Asynchronous gossip computed again, with real gradients: by what its ranks wrote down of a run of
// threads, to the bit; and not by another order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/session/coordinator/journal.h"
#include "tests/conformance/asynchronous_gossip_training.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"
#include "tests/conformance/trained_in_process.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using experiment::Experiment;
using experiment::OptimizerKind;
using plan::Answer;
using plan::StepPosition;
using session::Command;
using tests::in_process;
using Answers = std::vector<std::vector<Answer>>;  // by rank

// A run in real time.
struct Real {
  experiment::Resolved resolved;
  std::vector<tests::RankOutcome> ranks;
  Answers answers;
};

Real real_run(const Experiment& e) {
  Real real{experiment::resolve(e, ".").value(), {}, {}};
  std::vector<run::OrderLog> logs(static_cast<std::size_t>(real.resolved.world()));
  real.ranks = tests::train(real.resolved, compute::reference::make, in_process, {}, {}, {}, &logs);
  for (run::OrderLog& log : logs) {
    const std::string bytes = log.take();
    real.answers.push_back(plan::answers_of(std::as_bytes(std::span(bytes))).value());
  }
  return real;
}

struct Followed {
  base::Problem problem;  // without an id if there is none
  std::vector<std::vector<double>> parameters;
  std::int64_t steps = 0, left = 0;
  bool over = false;
};

// Inputs of a training run, which outlive it.
struct Training {
  plan::Plan plan;
  run::Recipe recipe;
  std::unique_ptr<run::GossipReplay> training;

  explicit Training(const experiment::Resolved& resolved)
      : plan(strategy::make_plan(resolved).value()), recipe(session::recipe(resolved)) {
    auto parts = session::gossip_replay_parts(resolved, plan, recipe).value();
    std::size_t most = 0;
    for (int rank = 0; rank < plan.ranks; ++rank) {
      parts.computes.push_back(compute::reference::make());
      most =
          std::max(most, static_cast<std::size_t>(run::layout(plan.rank_plan(rank)).shared_bytes));
    }
    parts.transports = in_process(plan.ranks, most);
    parts.offload_directory = std::filesystem::temp_directory_path().string();
    training = run::GossipReplay::make(std::move(parts)).value();
  }
};

Followed follow(const experiment::Resolved& resolved, Answers answers) {
  Training again(resolved);
  Followed followed;
  auto order = plan::RecordedAnswers::make(std::move(answers), 0).value();
  for (auto event = order.next(); event && followed.problem.id.empty(); event = order.next())
    if (const auto ok = again.training->follow(*event); !ok) followed.problem = ok.error();
  followed.left = order.left();
  followed.steps = again.training->steps();
  followed.over = again.training->over();
  for (int rank = 0; rank < resolved.world(); ++rank)
    followed.parameters.push_back(tests::values_of(again.training->parameters(rank)));
  return followed;
}

void expect_the_same_to_the_bit(const Experiment& e) {
  const Real real = real_run(e);
  const Followed again = follow(real.resolved, real.answers);
  ASSERT_EQ(again.problem, base::Problem{});
  EXPECT_TRUE(again.over);
  EXPECT_EQ(again.left, 0);
  EXPECT_EQ(again.steps, real.resolved.steps * real.resolved.world());
  for (std::size_t rank = 0; rank < real.ranks.size(); ++rank) {
    ASSERT_EQ(real.ranks[rank].problem, base::Problem{});
    EXPECT_EQ(again.parameters[rank], real.ranks[rank].parameters) << "rank " << rank;
  }
}

// The plan has tails of fewer samples, moments, clipping by each rank's local norm, and averages in
// between.
Experiment training(int ranks) {
  Experiment e = tests::in_pairs(tests::small(ranks, 6 * ranks));
  e.strategy.gossip.consensus_every_steps = 7;
  e.training.optimizer.momentum = 0.9;
  e.training.clip_norm = 5;
  return e;
}

TEST(AsynchronousGossipOrder, replays_a_real_run_bit_for_bit) {
  for (const int ranks : {2, 4, 8}) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    expect_the_same_to_the_bit(training(ranks));
  }
}

TEST(AsynchronousGossipOrder, replays_plans_with_tails_moments_and_clipping) {
  Experiment adam = training(4), in_micro_steps = training(4), normalized = training(4),
             dropped = training(4), offloaded = training(4);
  adam.training.optimizer.kind = OptimizerKind::adamw;
  adam.training.optimizer.learning_rate = 0.01;
  in_micro_steps.training.accumulation_steps = 3;
  normalized.model.layers.insert(normalized.model.layers.begin() + 1,
                                 {.kind = model::LayerKind::batch_norm});
  dropped.model.layers.insert(dropped.model.layers.begin() + 2,
                              {.kind = model::LayerKind::dropout, .probability = 0.3});
  offloaded.training.optimizer.kind = OptimizerKind::adam;
  offloaded.training.swap.optimizer = experiment::OffloadTarget::host;
  for (const Experiment* one : {&adam, &in_micro_steps, &normalized, &dropped, &offloaded})
    expect_the_same_to_the_bit(*one);
}

TEST(AsynchronousGossipOrder, has_the_position_of_a_rank_at_its_answer) {
  const Real real = real_run(training(4));
  for (std::size_t rank = 0; rank < 4; ++rank) {
    if (rank % 2 == 0) {
      EXPECT_TRUE(real.answers[rank].empty()) << "it asks";
      continue;
    }
    ASSERT_FALSE(real.answers[rank].empty());
    EXPECT_TRUE(std::ranges::is_sorted(real.answers[rank], {}, &Answer::place));
    EXPECT_EQ(real.answers[rank].back(),
              (Answer{Answer::Kind::ends, static_cast<std::int32_t>(rank), {100, 0}, -1, 0}));
  }
  EXPECT_EQ(real.answers[1].size() + real.answers[3].size(), 2U * 100 + 2)
      << "every step of the asking ranks is in one of them";
}

// The first answer that another follows in a later step of its own.
Answer* movable(std::vector<Answer>& answers) {
  for (std::size_t i = 0; i + 1 < answers.size(); ++i)
    if (answers[i].place.step < answers[i + 1].place.step) return &answers[i];
  return nullptr;
}

TEST(AsynchronousGossipOrder, with_an_answer_at_another_position_gives_other_weights) {
  Real real = real_run(training(2));
  Answer* const moved = movable(real.answers[1]);
  ASSERT_NE(moved, nullptr);
  moved->place = (moved + 1)->place;
  const Followed other = follow(real.resolved, real.answers);
  ASSERT_EQ(other.problem, base::Problem{});
  EXPECT_TRUE(other.over);
  EXPECT_NE(other.parameters[0], real.ranks[0].parameters);
}

// The order of a killed run.
TEST(AsynchronousGossipOrder, is_followed_as_far_as_it_was_recorded) {
  Real real = real_run(training(4));
  real.answers[1].resize(real.answers[1].size() / 2);
  const Followed once = follow(real.resolved, real.answers),
                 again = follow(real.resolved, real.answers);
  ASSERT_EQ(once.problem, base::Problem{});
  EXPECT_FALSE(once.over);
  EXPECT_GT(once.steps, 0);
  EXPECT_LT(once.steps, 400);
  EXPECT_GT(once.left, 0) << "rank 3 recorded more than can be replayed without rank 1";
  EXPECT_EQ(once.parameters, again.parameters);
}

TEST(AsynchronousGossipOrder, that_is_impossible_is_reported) {
  const auto resolved = experiment::resolve(training(2), ".").value();
  const auto problem_of = [&](const std::vector<Answer>& events) {
    Training again(resolved);
    for (const Answer& event : events)
      if (const auto ok = again.training->follow(event); !ok) return ok.error();
    return base::Problem{};
  };
  const auto answers = [](std::int64_t step, StepPosition place) {
    return Answer{Answer::Kind::answers, 1, place, 0, step};
  };
  const Answer ends{Answer::Kind::ends, 1, {3, 0}, -1, 0};
  EXPECT_EQ(problem_of({answers(0, {0, 2}), answers(1, {5, 0})}), base::Problem{});
  EXPECT_THAT(problem_of({answers(0, {2, 1}), answers(1, {1, 9})}),
              base::IsProblem("event_too_late", "rank 1, op 9 of step 1"));
  EXPECT_THAT(problem_of({answers(1, {0, 0})}),
              base::IsProblem("not_offered", "rank 1, op 0 of step 0"));
  EXPECT_THAT(problem_of({answers(0, {0, 0}), answers(0, {0, 1})}),
              base::IsProblem("not_offered", "rank 1, op 1 of step 0"));
  EXPECT_THAT(problem_of({answers(0, {101, 0})}),
              base::IsProblem("step_out_of_range", "rank 1, op 0 of step 101"));
  EXPECT_THAT(problem_of({answers(0, {0, 200})}),
              base::IsProblem("event_too_late", "rank 1, op 200 of step 0"));
  EXPECT_THAT(problem_of({Answer{Answer::Kind::answers, 0, {}, 1, 0}}),
              base::IsProblem("unknown_rank", "rank 0, op 0 of step 0"));
  EXPECT_THAT(problem_of({ends, answers(0, {3, 0})}),
              base::IsProblem("event_after_end", "rank 1, op 0 of step 3"));
  EXPECT_THAT(problem_of({Answer{Answer::Kind::ends, 1, {3, 1}, -1, 0}}),
              base::IsProblem("ends_within_step", "rank 1, op 1 of step 3"));
}

// Sessions
// ------------------------------------------------------------

Experiment session_in_pairs(std::int64_t steps) {
  Experiment e = session_experiment(4, steps);
  e.strategy.kind = experiment::StrategyKind::gossip;
  e.strategy.gossip.mode = experiment::GossipMode::asynchronous;
  return e;
}

void expect_computed_again(const session::CoordinatorResult& outcome) {
  const auto again =
      session::replay_run(outcome.result["run_directory"].get<std::string>(), replay_services());
  ASSERT_TRUE(again) << base::to_string(again.error());
  EXPECT_EQ(again->skipped_events, 0);
  EXPECT_EQ(again->weights.size(), 4u);
  ASSERT_TRUE(again->compared());
  for (const auto& rank : again->weights)
    EXPECT_EQ(rank.parameters_xxh64, rank.recorded_xxh64) << "rank " << rank.rank;
}

// A straggler answers while it is held back; and all meet in between, to evaluate and to measure
// how far they are apart.
TEST(AsynchronousGossipOrder, includes_answers_of_a_delayed_straggler) {
  for (const std::size_t straggler : {0u, 1u}) {
    Experiment e = session_in_pairs(60);
    e.topology.hosts[0].devices[straggler].slow_down = 20;
    e.run.evaluate_every_steps = 25;
    e.strategy.gossip.consensus_every_steps = 9;
    SessionRun run(e);
    const auto outcome = run.result();
    ASSERT_EQ(state_of(outcome), "finished");
    expect_computed_again(outcome);
  }
}

// Paused ranks answer too, and their final parameters are the mean of those at the stop.
TEST(AsynchronousGossipOrder, includes_the_step_at_which_a_run_was_stopped) {
  Experiment e = session_in_pairs(1'000'000);
  e.run.evaluate_every_steps = 1'000'000;
  e.topology.hosts[0].devices[2].slow_down = 3;
  SessionRun run(e);
  Viewer viewer(run.client());
  viewer.wait_for_step(20);
  viewer.ask(Command::pause);
  const auto paused = viewer.wait_for(session::RunState::paused);
  viewer.ask(Command::single_step);
  viewer.wait_for_step(paused.step + 1);
  viewer.ask(Command::stop);
  const auto outcome = run.result();
  ASSERT_EQ(state_of(outcome), "stopped");
  expect_computed_again(outcome);
}

TEST(AsynchronousGossipOrder, of_another_experiment_is_refused) {
  Experiment e = session_in_pairs(20);
  SessionRun run(e);
  const std::filesystem::path directory = run.result().result["run_directory"].get<std::string>();
  Experiment other = e;
  other.training.seed = 99;
  SessionRun other_run(other);
  const std::filesystem::path others =
      other_run.result().result["run_directory"].get<std::string>();
  std::filesystem::copy_file(others / session::kOrderFile, directory / session::kOrderFile,
                             std::filesystem::copy_options::overwrite_existing);
  const auto refused = session::replay_run(directory, replay_services());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::ProblemCode::refused);
  EXPECT_EQ(refused.error().id, "order_of_other_plan");
}

}  // namespace
}  // namespace trainyard::conformance
