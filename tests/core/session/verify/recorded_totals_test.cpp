// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/verify/recorded_totals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/core/session/recorded_run.h"

namespace trainyard::session {
namespace {

using base::Json;
using telemetry::Event;
using telemetry::Metric;
using testing::ElementsAre;

// Reports of a rank on one step.
std::vector<Event> step(int number, double samples, double loss_sum, double correct,
                        double seconds = 0.5) {
  return {metric_event(Metric::step_seconds, number, seconds),
          metric_event(Metric::loss_sum, number, loss_sum),
          metric_event(Metric::correct, number, correct),
          metric_event(Metric::samples, number, samples)};
}

std::vector<Event> joined(const std::vector<std::vector<Event>>& parts) {
  std::vector<Event> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

RecordedTotals totals_of(const std::vector<std::vector<Event>>& by_rank,
                         Json header = Json::object(), const plan::Plan* plan = nullptr) {
  const RecordedRun run;
  header["ranks"] = by_rank.size();
  run.write(header, by_rank);
  return add_up_recording(run.directory(), plan).value();
}

TEST(RecordedTotals, of_steps_are_sums_over_ranks) {
  const auto totals = totals_of({joined({step(0, 4, 8, 1, 0.5), step(1, 4, 6, 2, 0.25)}),
                                 joined({step(0, 2, 4, 1, 0.75), step(1, 2, 3, 1, 0.125)})});
  EXPECT_EQ(totals.steps, 2);
  EXPECT_EQ(totals.sum(&RankTotals::samples), 12);
  EXPECT_THAT(totals.step_seconds, ElementsAre(0.25, 0.75)) << "of the slowest rank, sorted";
  EXPECT_EQ(totals.train.step, 1);
  EXPECT_DOUBLE_EQ(*totals.train.loss, 1.5);
  EXPECT_DOUBLE_EQ(*totals.train.accuracy, 0.5);
  EXPECT_FALSE(totals.held_out.loss);
  EXPECT_TRUE(totals.result.is_object());
  EXPECT_EQ(totals.damage, "");
}

TEST(RecordedTotals, do_not_count_a_step_that_one_rank_did_not_report) {
  const auto totals =
      totals_of({joined({step(0, 4, 8, 1), step(1, 4, 6, 2)}), joined({step(0, 2, 4, 1)})});
  EXPECT_EQ(totals.steps, 1);
  EXPECT_EQ(totals.train.step, 0);
  EXPECT_EQ(totals.sum(&RankTotals::samples), 10);
}

TEST(RecordedTotals, of_steps_of_single_workers_need_one_report) {
  const auto totals =
      totals_of({joined({step(0, 4, 8, 1), step(3, 4, 2, 4)}), joined({step(1, 4, 6, 2)}), {}},
                {{"reports_of_step", 1}, {"reports_of_evaluation", 1}, {"first_server", 2}});
  EXPECT_EQ(totals.steps, 3);
  EXPECT_EQ(totals.train.step, 3);
  EXPECT_DOUBLE_EQ(*totals.train.loss, 0.5);
}

TEST(RecordedTotals, of_counters_include_all_processes_of_a_rank) {
  const auto sent = [](std::initializer_list<double> totals) {
    std::vector<Event> events;
    for (const double total : totals)
      events.push_back(metric_event(Metric::sent_payload_bytes, 0, total, 1));
    return events;
  };
  auto both = sent({100, 250, 30, 80});
  both.push_back(metric_event(Metric::sent_payload_bytes, 0, 5, 2));
  const auto totals = totals_of({both, sent({10, 20}), {}});
  EXPECT_EQ(totals.ranks[0].sent_payload_bytes, 335);
  EXPECT_EQ(totals.sum(&RankTotals::sent_payload_bytes), 355);
  EXPECT_EQ(totals.sum(&RankTotals::sent_header_bytes), 0);
}

TEST(RecordedTotals, of_dropped_gradients_are_the_samples_of_their_steps) {
  const auto totals = totals_of({joined({step(0, 4, 8, 1), step(2, 3, 3, 1)}),
                                 joined({step(0, 4, 8, 1)}),
                                 {metric_event(Metric::dropped_gradients, 2, 1, 0)}},
                                {{"reports_of_step", 1}, {"first_server", 2}});
  EXPECT_EQ(totals.dropped_gradients, 1);
  EXPECT_EQ(totals.sum(&RankTotals::dropped_samples), 3);
  EXPECT_EQ(totals.sum(&RankTotals::samples), 11);
}

TEST(RecordedTotals, of_incomplete_updates_are_the_samples_of_their_steps) {
  const auto totals = totals_of({joined({step(0, 4, 8, 1), step(2, 3, 3, 1)}),
                                 joined({step(1, 4, 8, 1)}),
                                 {metric_event(Metric::unapplied_gradients, 2, 1, 0)}},
                                {{"reports_of_step", 1}, {"first_server", 2}});
  EXPECT_EQ(totals.sum(&RankTotals::unapplied_samples), 3);
  EXPECT_EQ(totals.sum(&RankTotals::dropped_samples), 0);
}

TEST(RecordedTotals, of_losses_count_only_applied_gradients_if_the_header_says_so) {
  const auto totals = totals_of(
      {step(0, 4, 8, 1),
       step(0, 4, 6, 1),
       step(0, 4, 4, 1),
       {metric_event(Metric::staleness, 0, 0, 1), metric_event(Metric::staleness, 0, 0, 2)}},
      {{"reports_of_step", 2}, {"only_applied", true}, {"first_server", 3}});
  ASSERT_TRUE(totals.train.loss);
  EXPECT_DOUBLE_EQ(*totals.train.loss, 10.0 / 8);
}

TEST(RecordedTotals, list_invalid_values) {
  const auto totals = totals_of({step(0, 4, 8, 1)}, {{"first_server", "x"}});
  EXPECT_THAT(totals.invalid_values,
              testing::Contains(testing::Field(&base::Problem::where, "first_server")));
}

TEST(RecordedTotals, of_staleness_are_those_of_the_first_server) {
  const auto totals = totals_of(
      {{},
       {},
       {metric_event(Metric::staleness, 0, 2, 0), metric_event(Metric::staleness, 1, 4, 1)},
       {metric_event(Metric::staleness, 0, 9, 0)}},
      {{"reports_of_step", 1}, {"first_server", 2}});
  EXPECT_THAT(totals.staleness, ElementsAre(2, 4));
}

TEST(RecordedTotals, of_ops_are_the_bytes_that_ops_send) {
  plan::RankPlan rank;
  rank.lanes = {{"compute", plan::LaneKind::compute, -1}};
  plan::Op load, send;
  load.lane = send.lane = plan::LaneId(0);
  send.kind = plan::OpKind::send;
  rank.programs = {{"train", 0, 0, 1, {load, send}}};
  const plan::Plan plan = plan::from_ranks({}, {}, {rank});
  const auto totals =
      totals_of({{op_event(0, 0, 0, 16), op_event(0, 1, 0, 100), op_event(0, 1, 1, 50),
                  op_event(0, 7, 1, 1), op_event(3, 0, 1, 1)}},
                Json::object(), &plan);
  EXPECT_EQ(totals.ops, 5);
  EXPECT_EQ(totals.sent_op_bytes, 150) << "unknown ops send nothing";
}

TEST(RecordedTotals, of_a_damaged_recording_state_the_damage) {
  const RecordedRun run;
  run.write({{"ranks", 1}}, {joined({step(0, 4, 8, 1)})});
  const auto size = std::filesystem::file_size(run.recording());
  for (const std::uintmax_t kept : {size - 5, size / 2}) {
    std::filesystem::resize_file(run.recording(), kept);
    const auto totals = add_up_recording(run.directory(), nullptr);
    ASSERT_TRUE(totals);
    EXPECT_NE(totals->damage, "") << kept << " bytes";
  }
}

TEST(RecordedTotals, need_a_recording) {
  const RecordedRun run;
  EXPECT_FALSE(add_up_recording(run.directory(), nullptr));
}

}  // namespace
}  // namespace trainyard::session
