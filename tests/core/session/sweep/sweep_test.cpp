// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/sweep/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/session/sweep/sweep_text.h"
#include "tests/core/session/sweep/sweeps.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using base::Accepts;
using base::Advises;
using base::IsProblem;
using base::Reports;
using collective::Algorithm;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> describe(const Sweep& sweep) {
  std::vector<std::string> words;
  for (const SweepVariant& one : sweep.variants)
    words.push_back(experiment::describe(one.wanted(sweep.scaling, sweep.steps)));
  return words;
}

TEST(SweepPlan, runs_powers_of_two_and_all_ranks_with_the_algorithm_of_the_experiment) {
  EXPECT_THAT(default_ranks(1), ElementsAre(1));
  EXPECT_THAT(default_ranks(6), ElementsAre(1, 2, 4, 6));
  EXPECT_THAT(default_ranks(8), ElementsAre(1, 2, 4, 8));
  EXPECT_THAT(describe(make_sweep(four_ranks(), {}).value()),
              ElementsAre("1 rank", "ring on 2 ranks", "ring on 4 ranks"));
}

TEST(SweepPlan, runs_one_rank_once_for_all_algorithms) {
  const auto sweep =
      make_sweep(four_ranks(), {.ranks = {1, 4}, .algorithms = {Algorithm::ring, Algorithm::star}});
  EXPECT_THAT(describe(sweep.value()), ElementsAre("1 rank", "ring on 4 ranks", "star on 4 ranks"));
}

TEST(SweepPlan, leaves_out_variants_that_do_not_fit_with_the_reason) {
  experiment::Experiment whole = four_ranks();
  whole.topology = tests::drawn_hosts(2, 2);
  const auto sweep = make_sweep(
      whole, {.ranks = {3, 4}, .algorithms = {Algorithm::ring, Algorithm::sharded_hierarchical}});
  ASSERT_TRUE(sweep);
  ASSERT_EQ(sweep->variants.size(), 4u);
  EXPECT_EQ(sweep->variants[1].state, VariantState::left_out);
  EXPECT_THAT(sweep->variants[1].reason, HasSubstr("sharded_hierarchical"));
  for (const std::size_t i : {0u, 2u, 3u})
    EXPECT_EQ(sweep->variants[i].state, VariantState::waiting) << i;
}

TEST(SweepPlan, refuses_more_ranks_than_the_drawing_has) {
  const auto sweep = make_sweep(four_ranks(), {.ranks = {1, 8}});
  ASSERT_FALSE(sweep);
  EXPECT_THAT(sweep.error(), AllOf(IsProblem("more_ranks_than_drawn", "ranks"), Reports("8"),
                                   Accepts("1 to 4"), Advises("worker")));
}

TEST(SweepPlan, refuses_drawings_without_workers_and_one_device) {
  experiment::Experiment none = four_ranks();
  none.topology.hosts.clear();
  EXPECT_EQ(make_sweep(none, {}).error().id, "no_worker");
  experiment::Experiment alone = four_ranks();
  alone.strategy.kind = experiment::StrategyKind::one_device;
  EXPECT_EQ(make_sweep(alone, {}).error().id, "strategy_does_not_scale");
}

TEST(SweepPlan, refuses_experiments_that_cannot_be_swept) {
  experiment::Experiment whole = four_ranks();
  EXPECT_FALSE(sweep_problem(whole, {}));
  whole.strategy.engine = experiment::Engine::gloo;
  EXPECT_EQ(sweep_problem(whole, {}).value().id, "engine_without_bytes");
  whole.strategy.kind = experiment::StrategyKind::data_parallel;
  EXPECT_EQ(sweep_problem(whole, {}).value().id, "strategy_does_not_scale");
}

TEST(SweepPlan, warm_up_is_a_fifth_of_the_steps_and_at_most_ten) {
  EXPECT_EQ(warm_up_steps(2), 0);
  EXPECT_EQ(warm_up_steps(20), 4);
  EXPECT_EQ(warm_up_steps(50), 10);
  EXPECT_EQ(warm_up_steps(1000), 10);
}

TEST(SweepLists, are_parsed_with_spaces_and_duplicates_and_sorted) {
  EXPECT_THAT(read_ranks("4, 1,2,4").value(), ElementsAre(1, 2, 4));
  EXPECT_THAT(read_algorithms("star, ring").value(), ElementsAre(Algorithm::ring, Algorithm::star));
  EXPECT_EQ(read_algorithms("all")->size(), base::all_names<Algorithm>().size() - 1)
      << "all but auto";
  EXPECT_THAT(read_algorithms("auto").value(), ElementsAre(Algorithm::automatic));
}

TEST(SweepLists, that_are_invalid_are_refused_with_the_accepted_values) {
  for (const char* bad : {"", "0", "-1", "two", "1,,2", "1.5", "99999999999999999999"})
    EXPECT_FALSE(read_ranks(bad)) << bad;
  EXPECT_THAT(read_ranks("1,x").error(), AllOf(IsProblem("bad_ranks", "ranks"), Reports("\"x\"")));
  for (const char* bad : {"", "rang", "ring,,star"}) EXPECT_FALSE(read_algorithms(bad)) << bad;
  EXPECT_THAT(read_algorithms("rang").error(), AllOf(IsProblem("bad_algorithms", "algorithms"),
                                                     Reports("\"rang\""), Accepts("ring, direct")));
}

TEST(SweepFigures, use_the_run_on_one_rank_as_baseline) {
  const Sweep sweep = measured_sweep();
  EXPECT_EQ(baseline(sweep), 0u);
  const auto figures = scaled(sweep);
  EXPECT_NEAR(figures[0]->speed_up, 1, 1e-12);
  EXPECT_NEAR(figures[0]->efficiency, 1, 1e-12);
  EXPECT_NEAR(figures[1]->samples_per_second, 1600, 1e-9);
  EXPECT_NEAR(figures[1]->speed_up, 1.6, 1e-12);
  EXPECT_NEAR(figures[1]->efficiency, 0.8, 1e-12);
  EXPECT_NEAR(figures[4]->speed_up, 2.5, 1e-12);
  EXPECT_NEAR(figures[4]->efficiency, 0.625, 1e-12);
  EXPECT_THAT(baseline_text(sweep), AllOf(HasSubstr("1 rank"), Not(HasSubstr(" on "))));
}

TEST(SweepFigures, without_one_rank_use_the_fastest_variant_of_the_fewest_ranks_as_baseline) {
  Sweep sweep = measured_sweep();
  sweep.variants[0].state = VariantState::failed;
  sweep.variants[2].median_step_seconds = 0.008;
  EXPECT_EQ(baseline(sweep), 2u);
  const auto figures = scaled(sweep);
  EXPECT_FALSE(figures[0]) << "a failed variant has no figures";
  EXPECT_NEAR(figures[1]->speed_up, 0.8, 1e-12);
  EXPECT_NEAR(figures[4]->speed_up, 1.25, 1e-12);
  EXPECT_NEAR(figures[4]->efficiency, 0.625, 1e-12);
  EXPECT_THAT(baseline_text(sweep), AllOf(HasSubstr("direct on 2 ranks"), HasSubstr("1 rank ")));
}

TEST(SweepFigures, of_unmeasured_variants_are_absent) {
  const Sweep sweep = make_sweep(four_ranks(), {}).value();
  EXPECT_FALSE(baseline(sweep));
  for (const auto& one : scaled(sweep)) EXPECT_FALSE(one);
  EXPECT_EQ(baseline_text(sweep), "");
}

// 50 steps of 2 (n - 1) 1000 B.
TEST(SweepFigures, of_bytes_are_per_step_and_are_compared_with_the_formula) {
  Sweep sweep = measured_sweep();
  auto figures = scaled(sweep);
  EXPECT_EQ(figures[3]->step_bytes, 6000);
  EXPECT_EQ(figures[3]->busiest_step_bytes, 1500);
  EXPECT_EQ(*figures[3]->formula_step_bytes, 6000);
  EXPECT_TRUE(figures[3]->equals_formula);
  const auto formula = static_cast<std::size_t>(SweepColumn::formula);
  EXPECT_EQ(row(sweep.variants[3], figures[3])[formula], "equal");
  sweep.variants[3].sent_bytes += 1;
  figures = scaled(sweep);
  EXPECT_FALSE(figures[3]->equals_formula) << "one byte is not too few";
  EXPECT_EQ(row(sweep.variants[3], figures[3])[formula], "+1 B in the run");
  sweep.variants[3].formula_sent_bytes = -1;
  EXPECT_EQ(row(sweep.variants[3], scaled(sweep)[3])[formula], "-");
}

TEST(SweepProgressOfRuns, counts_runs_and_estimates_the_remaining_time) {
  Sweep sweep = measured_sweep();  // of 10 s each
  sweep.state = SweepState::running;
  sweep.variants[2].state = VariantState::left_out;
  sweep.variants[3].state = VariantState::running;
  sweep.variants[4].state = VariantState::waiting;
  const SweepProgress now = progress(sweep, 1004);  // 4 s after it began
  EXPECT_EQ(now.runs, 4);
  EXPECT_EQ(now.over, 2);
  EXPECT_EQ(now.running, 3u);
  EXPECT_NEAR(*now.seconds_left, 16, 1e-9);
  EXPECT_NEAR(*progress(sweep, 1100).seconds_left, 10, 1e-9)
      << "a slow run leaves at least the time that the others need";
}

TEST(SweepProgressOfRuns, estimates_nothing_before_the_first_run_ends_and_after_the_last) {
  EXPECT_FALSE(progress(make_sweep(four_ranks(), {}).value(), 0).seconds_left);
  EXPECT_FALSE(progress(measured_sweep(), 0).seconds_left);
}

TEST(SweepText, include_caveats_of_the_times) {
  Sweep sweep = measured_sweep();
  sweep.speeds = "speeds of links: imposed";
  sweep.variants[3].shared_cores_caveat = sweep.variants[4].shared_cores_caveat =
      "4 ranks share 2 cores: times include waiting for each other";
  sweep.variants[1].emulated_ranks = 2;
  EXPECT_THAT(caveats(sweep), ElementsAre(AllOf(HasSubstr("EMULATED"), HasSubstr("2 ranks")),
                                          sweep.variants[3].shared_cores_caveat, sweep.speeds));
  EXPECT_EQ(row(sweep.variants[3], scaled(sweep)[3]).back(), "done, cores shared");
  EXPECT_EQ(row(sweep.variants[1], scaled(sweep)[1]).back(), "done, EMULATED");
}

TEST(SweepText, of_gossip_include_the_meaning_of_the_algorithm) {
  experiment::Experiment e = four_ranks();
  EXPECT_EQ(make_sweep(e, {})->gossip, "");
  e.strategy.kind = experiment::StrategyKind::gossip;
  const Sweep together = *make_sweep(e, {});
  EXPECT_THAT(caveats(together), Contains(together.gossip));
  EXPECT_THAT(together.gossip, HasSubstr("gossip"));
  EXPECT_THAT(together.gossip, Not(HasSubstr("simulated")));
  e.strategy.gossip.mode = experiment::GossipMode::asynchronous;
  EXPECT_THAT(make_sweep(e, {})->gossip, HasSubstr("not simulated"));
}

TEST(SweepText, distinguish_weak_and_strong_scaling) {
  Sweep sweep = measured_sweep();
  EXPECT_THAT(scaling_text(sweep), HasSubstr("weak scaling"));
  sweep.scaling = experiment::Scaling::strong;
  EXPECT_THAT(scaling_text(sweep), HasSubstr("strong scaling"));
  EXPECT_THAT(measurement_text(sweep),
              AllOf(HasSubstr("median"), HasSubstr("50 steps"), HasSubstr("10 of warm-up")));
}

TEST(SweepText, of_a_row_have_a_dash_for_missing_values) {
  Sweep sweep = measured_sweep();
  EXPECT_THAT(row(sweep.variants[1], scaled(sweep)[1]),
              ElementsAre("2", "ring", "10 ms", "5 ms", "1,600", "1.60", "80 %", "2 kB", "1 kB",
                          "equal", "done"));
  sweep.variants[1].state = VariantState::failed;
  sweep.variants[1].reason = "rank 1 died";
  EXPECT_THAT(
      row(sweep.variants[1], scaled(sweep)[1]),
      ElementsAre("2", "ring", "-", "-", "-", "-", "-", "-", "-", "-", "failed: rank 1 died"));
}

TEST(SweepText, of_an_automatic_choice_include_the_chosen_algorithm) {
  SweepVariant one = measured(4, Algorithm::automatic, 32, 0.01);
  one.used = Algorithm::direct;
  EXPECT_EQ(series_name(one), "auto (direct)");
  one.state = VariantState::waiting;
  EXPECT_EQ(series_name(one), "auto");
}

TEST(SweepCsv, has_one_line_per_variant_with_as_many_cells_as_the_header) {
  Sweep sweep = measured_sweep();
  sweep.variants[1].state = VariantState::failed;
  sweep.variants[1].reason = "said \"no\"";
  std::istringstream csv(to_csv(sweep));
  std::vector<std::string> lines;
  for (std::string line; std::getline(csv, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 6u);
  for (const std::string& line : lines)
    EXPECT_EQ(std::ranges::count(line, ','), std::ranges::count(lines[0], ',')) << line;
  EXPECT_THAT(lines[2], HasSubstr("failed,\"said \"\"no\"\"\",,"));
  EXPECT_THAT(lines[4], HasSubstr("4,ring,ring,done,\"\",40,32,0.016"));
}

}  // namespace
}  // namespace trainyard::session
