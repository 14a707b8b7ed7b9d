// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/base/json.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

// Steps of one rank, back to back from `begin` on: `samples` each.
std::vector<Event> steps(double begin, const std::vector<double>& seconds, double samples) {
  std::vector<Event> events;
  double now = begin;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    now += seconds[i];
    events.push_back(metric(Metric::loss_sum, static_cast<int>(i), samples * 2, now));
    events.push_back(metric(Metric::samples, static_cast<int>(i), samples, now));
    events.push_back(metric(Metric::step_seconds, static_cast<int>(i), seconds[i], now));
  }
  return events;
}

History history_of(const std::vector<std::vector<Event>>& by_rank) {
  History history;
  take_json(history, FrameType::header, -1, small_header(static_cast<int>(by_rank.size())));
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    take_events(history, static_cast<int>(rank), by_rank[rank]);
  return history;
}

TEST(Summary, of_an_empty_history_is_zero) {
  const Summary summary = summarize(History());
  EXPECT_EQ(summary.steps, 0);
  EXPECT_EQ(summary.samples, 0);
  EXPECT_EQ(summary.wall_seconds, 0);
  EXPECT_FALSE(summary.step_seconds);
  EXPECT_FALSE(summary.train_loss);
  EXPECT_FALSE(summary.held_out_accuracy);
  EXPECT_TRUE(summary.ranks.empty());
}

TEST(Summary, step_time_is_that_of_the_slowest_rank) {
  const Summary summary =
      summarize(history_of({steps(1, {0.5, 0.25, 0.25}, 10), steps(1, {0.25, 0.5, 0.25}, 10)}));
  ASSERT_TRUE(summary.step_seconds);
  EXPECT_EQ(summary.steps, 3);
  EXPECT_DOUBLE_EQ(summary.step_seconds->median, 0.5);
  EXPECT_DOUBLE_EQ(summary.step_seconds->p95, 0.5);
  EXPECT_EQ(summary.samples, 60);
  EXPECT_DOUBLE_EQ(summary.wall_seconds, 1);
  EXPECT_NEAR(summary.samples_per_second, 60, 1e-6);
  EXPECT_DOUBLE_EQ(*summary.train_loss, 2);
}

// Ranks that take turns, and a pause of ten seconds between two rounds.
TEST(Summary, samples_per_second_count_only_training_time) {
  auto one = steps(1, {0.25}, 10), other = steps(1.25, {0.25}, 10);
  for (const Event& event : steps(11.5, {0.5}, 10)) one.push_back(event), one.back().step = 1;
  EXPECT_NEAR(summarize(history_of({one, other})).samples_per_second, 30 / 1.0, 1e-6);
}

// Counters of a replacement process start at 0.
TEST(Summary, bytes_include_all_processes_of_a_rank) {
  const auto counted = [](std::initializer_list<double> totals) {
    std::vector<Event> events;
    for (const double total : totals)
      events.push_back(metric(Metric::sent_payload_bytes, static_cast<int>(events.size()), total,
                              static_cast<double>(events.size())));
    return events;
  };
  const Summary summary = summarize(history_of({counted({100, 250, 30, 80}), counted({10, 20})}));
  EXPECT_EQ(summary.ranks[0].sent_payload_bytes, 330);
  EXPECT_EQ(summary.ranks[0].sent_payload_before, 250);
  EXPECT_EQ(summary.ranks[1].sent_payload_bytes, 20);
  EXPECT_EQ(summary.ranks[1].sent_payload_before, 0);
}

// Rank 2 is a server; of worker 1 it dropped the gradient of step 1, and of worker 0 none.
TEST(Summary, counts_samples_of_late_gradients_separately) {
  std::vector<Event> late = steps(0, {0.5, 0.5}, 10);
  late[4] = metric(Metric::samples, 1, 7, 1);
  const Summary summary = summarize(history_of(
      {steps(0, {0.5, 0.5}, 10), late, {metric(Metric::dropped_gradients, 1, 1, 1, 1)}}));
  EXPECT_EQ(summary.samples, 30);
  EXPECT_EQ(summary.dropped_samples, 7);
  EXPECT_DOUBLE_EQ(summary.samples_per_second, 30);
  EXPECT_EQ(summary.ranks[0].samples, 20);
  EXPECT_EQ(summary.ranks[0].dropped_samples, 0);
  EXPECT_EQ(summary.ranks[1].samples, 10);
  EXPECT_EQ(summary.ranks[1].dropped_samples, 7);
}

TEST(Summary, has_the_step_from_which_the_loss_is_nan) {
  std::vector<Event> events = steps(0, {0.25, 0.25, 0.25}, 10);
  EXPECT_FALSE(summarize(history_of({events})).diverged_step);
  events[3] = metric(Metric::loss_sum, 1, std::numeric_limits<double>::quiet_NaN(), 0.5);
  EXPECT_EQ(summarize(history_of({events})).diverged_step, 1);
  events[0] = metric(Metric::loss_sum, 0, std::numeric_limits<double>::infinity(), 0.25);
  EXPECT_EQ(summarize(history_of({events})).diverged_step, 0);
}

// Non-finite gradients are how the loss scale is found: they are no errors, and skipped updates are
// reported beside the scale.
TEST(Summary, steps_that_search_the_loss_scale_are_no_bad_gradients) {
  const History history = history_of(
      {{metric(Metric::reduced_gradient_norm, 0, std::numeric_limits<double>::infinity(), 0.1),
        metric(Metric::skipped_updates, 0, 1, 0.1), metric(Metric::loss_scale, 0, 4096, 0.1),
        metric(Metric::loss_scale, 1, 2048, 0.2)}});
  EXPECT_FALSE(history.bad_gradients());
  const auto scale = loss_scale(history);
  ASSERT_TRUE(scale);
  EXPECT_THAT(words(*scale),
              testing::AllOf(testing::HasSubstr(" 2,048"), testing::HasSubstr(" 1 step ")));
  EXPECT_THAT(words(LossScale{512, 0}), testing::AllOf(testing::HasSubstr(" 512"),
                                                       testing::Not(testing::HasSubstr("0 step"))));
  EXPECT_FALSE(loss_scale(history_of({{metric(Metric::loss_sum, 0, 1, 0.1)}})));
}

TEST(Summary, first_non_finite_gradient_is_ordered_by_step_then_local_then_rank) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto found = [](const std::vector<Event>& of_rank0, const std::vector<Event>& of_rank1) {
    return history_of({of_rank0, of_rank1}).bad_gradients();
  };
  const Event fine = metric(Metric::local_gradient_norm, 1, 2, 0.5),
              summed = metric(Metric::reduced_gradient_norm, 2, nan, 0.5);
  EXPECT_FALSE(found({fine, metric(Metric::loss_sum, 1, nan, 0.5)}, {}))
      << "the loss is not a gradient";
  EXPECT_EQ(found({fine, summed}, {metric(Metric::local_gradient_norm, 2, nan, 0.5, 1),
                                   metric(Metric::local_gradient_norm, 2, nan, 0.5, 0)}),
            (BadGradients{2, 1, "linear2", 0}));
  EXPECT_EQ(found({summed, metric(Metric::skipped_updates, 2, 1, 0.5),
                   metric(Metric::skipped_updates, 3, 2, 0.6)},
                  {metric(Metric::local_gradient_norm, 7, -1 / 0.0, 0.9)}),
            (BadGradients{2, 0, "linear1", 2}));
  EXPECT_THAT(
      words({2, 1, "0 linear 7-5", 0}),
      testing::AllOf(testing::HasSubstr("rank 1, step 2"), testing::HasSubstr("0 linear 7-5"),
                     testing::Not(testing::HasSubstr("updates"))));
  EXPECT_THAT(
      words({1200, 1, "0 linear 7-5", 2}),
      testing::AllOf(testing::HasSubstr("2 updates "), testing::HasSubstr("rank 1, step 1,200"),
                     testing::HasSubstr("0 linear 7-5")));
}

TEST(Summary, ignores_a_step_that_some_rank_has_not_finished) {
  const Summary summary = summarize(history_of({steps(0, {0.25, 0.25}, 1), steps(0, {0.5}, 1)}));
  EXPECT_EQ(summary.steps, 1);
  EXPECT_DOUBLE_EQ(summary.step_seconds->median, 0.5);
}

TEST(Summary, quantiles_are_of_logged_times) {
  std::vector<double> hundred;
  for (int i = 100; i > 0; --i) hundred.push_back(i);
  const Summary of_hundred = summarize(history_of({steps(0, hundred, 1)}));
  EXPECT_DOUBLE_EQ(of_hundred.step_seconds->median, 50.5);
  EXPECT_DOUBLE_EQ(of_hundred.step_seconds->p95, 95);
  const Summary of_one = summarize(history_of({steps(0, {3}, 1)}));
  EXPECT_DOUBLE_EQ(of_one.step_seconds->median, 3);
  EXPECT_DOUBLE_EQ(of_one.step_seconds->p95, 3);
  const Summary of_21 =
      summarize(history_of({steps(0, std::vector(hundred.begin() + 79, hundred.end()), 1)}));
  EXPECT_DOUBLE_EQ(of_21.step_seconds->median, 11);
  EXPECT_DOUBLE_EQ(of_21.step_seconds->p95, 20);
}

TEST(Summary, includes_time_between_steps_in_the_wall_time_but_not_in_the_rate) {
  History history = history_of({steps(0, {0.5}, 4)});
  take_events(history, 0,
              {metric(Metric::samples, 1, 4, 2.5),
               metric(Metric::step_seconds, 1, 0.5, 2.5)});  // 1.5 s of a held-out pass
  const Summary summary = summarize(history);
  EXPECT_DOUBLE_EQ(summary.wall_seconds, 2.5);
  EXPECT_DOUBLE_EQ(summary.samples_per_second, 8);
}

TEST(Summary, byte_totals_are_the_last_counters_over_all_peers) {
  History history = history_of({{}, {}});
  take_events(
      history, 0,
      {metric(Metric::sent_payload_bytes, 0, 100, 0, 1),
       metric(Metric::sent_payload_bytes, 1, 200, 1, 1),
       metric(Metric::sent_payload_bytes, 1, 50, 1, 2),
       metric(Metric::sent_header_bytes, 1, 8, 1, 1),
       metric(Metric::received_payload_bytes, 1, 70, 1, 1),
       metric(Metric::received_header_bytes, 1, 9, 1, 1), metric(Metric::dropped_events, 1, 3, 1)});
  take_events(history, 1,
              {metric(Metric::memory_bytes, 0, 4096, 0), metric(Metric::memory_bytes, 1, 1024, 1)});
  const Summary summary = summarize(history);
  ASSERT_EQ(summary.ranks.size(), 2u);
  EXPECT_EQ(summary.ranks[0].sent_payload_bytes, 250);
  EXPECT_EQ(summary.ranks[0].sent_header_bytes, 8);
  EXPECT_EQ(summary.ranks[0].received_payload_bytes, 70);
  EXPECT_EQ(summary.ranks[0].received_header_bytes, 9);
  EXPECT_EQ(summary.ranks[0].dropped_events, 3);
  EXPECT_EQ(summary.ranks[1].sent_payload_bytes, 0);
  EXPECT_EQ(summary.ranks[1].peak_memory_bytes, 4096);
}

TEST(Summary, keeps_the_last_held_out_figures) {
  History history = history_of({{}});
  for (const auto& [step, correct] : {std::pair{9, 5.0}, {19, 9.0}})
    take_events(history, 0,
                {metric(Metric::held_out_loss_sum, step, 10 - correct, 0),
                 metric(Metric::held_out_correct, step, correct, 0),
                 metric(Metric::held_out_samples, step, 10, 0)});
  const Summary summary = summarize(history);
  EXPECT_DOUBLE_EQ(*summary.held_out_accuracy, 0.9);
  EXPECT_DOUBLE_EQ(*summary.held_out_loss, 0.1);
}

}  // namespace
}  // namespace trainyard::telemetry
