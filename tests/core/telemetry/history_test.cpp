// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/base/json.h"
#include "tests/core/telemetry/support.h"

namespace trainyard::telemetry {
namespace {

using testing::HasSubstr;

History history_of(int ranks, const base::Json& more = base::Json::object()) {
  History history;
  base::Json header = small_header(ranks);
  header.update(more);
  take_json(history, FrameType::header, -1, header);
  return history;
}

std::vector<Event> report(int step, double loss_sum, double correct, double samples,
                          double at_seconds) {
  return {metric(Metric::loss_sum, step, loss_sum, at_seconds),
          metric(Metric::correct, step, correct, at_seconds),
          metric(Metric::samples, step, samples, at_seconds)};
}

TEST(History, reads_a_recording_with_every_kind_of_frame) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const auto history = History::load(directory.path());
  ASSERT_TRUE(history) << base::to_string(history.error());
  EXPECT_EQ(history->damage(), "");
  EXPECT_EQ(history->ranks(), 2);
  EXPECT_EQ(history->segments(), (std::vector<std::string>{"linear1", "linear2"}));
  EXPECT_EQ(history->header().at("run"), "r1");
  EXPECT_EQ(history->state().at("state"), "finished");
  EXPECT_EQ(history->result().at("status"), "completed");
  EXPECT_EQ(history->plan_text(0), "program train\n");
  EXPECT_EQ(history->plan_text(1), "");
  ASSERT_EQ(history->log().size(), 1u);
  EXPECT_EQ(history->log()[0].text, "ready");
  EXPECT_EQ(history->log()[0].rank, 1);
  ASSERT_EQ(history->train_loss().size(), 1u);
  EXPECT_DOUBLE_EQ(history->train_loss()[0].value, 1.5);
}

TEST(History, has_series_by_metric_rank_and_index_as_logged) {
  History history = history_of(2);
  take_events(history, 1,
              {metric(Metric::local_gradient_norm, 0, 0.5, 10, 3),
               metric(Metric::local_gradient_norm, 2, 0.25, 10.5, 3)});
  const Series* series = history.find({Metric::local_gradient_norm, 1, 3});
  ASSERT_NE(series, nullptr);
  EXPECT_EQ(series->steps, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(series->seconds, (std::vector<double>{0, 0.5}));
  EXPECT_EQ(series->values, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(history.find({Metric::local_gradient_norm, 0, 3}), nullptr);
}

TEST(History, counts_seconds_from_the_first_timed_frame) {
  History history = history_of(1);
  take_json(history, FrameType::state, -1, {{"state", "running"}, {"time_ns", 1'000'000'000}});
  take_json(history, FrameType::log, 0,
            {{"level", "info"}, {"time_ns", 1'500'000'000}, {"text", "hello"}});
  take_events(history, 0, {op(0, 4, 7, 3'000'000'000, 3'500'000'000, 4'000'000'000, 256)});
  EXPECT_DOUBLE_EQ(history.log()[0].seconds, 0.5);
  ASSERT_EQ(history.ops().size(), 1u);
  const OpRecord& record = history.ops()[0];
  EXPECT_DOUBLE_EQ(record.begin, 2);
  EXPECT_DOUBLE_EQ(record.ready, 2.5);
  EXPECT_DOUBLE_EQ(record.end, 3);
  EXPECT_EQ(record.op, 4);
  EXPECT_EQ(record.step, 7);
  EXPECT_EQ(record.bytes, 256);
}

TEST(History, has_faults_by_rank_and_time) {
  History history = history_of(3);
  take_json(history, FrameType::state, -1, {{"state", "running"}, {"time_ns", 1'000'000'000}});
  take_json(history, FrameType::state, -1,
            {{"state", "running"},
             {"time_ns", 1'500'000'000},
             {"step", 12},
             {"fault", {{"kind", "lost"}, {"rank", 2}, {"text", "ended by signal 9"}}}});
  ASSERT_EQ(history.faults().size(), 1u);
  const Fault& fault = history.faults().front();
  EXPECT_EQ(fault.kind, "lost");
  EXPECT_EQ(fault.rank, 2);
  EXPECT_EQ(fault.step, 12);
  EXPECT_DOUBLE_EQ(fault.seconds, 0.5);
  EXPECT_EQ(fault.text, "ended by signal 9");
  take_json(history, FrameType::state, -1,
            {{"state", "running"},
             {"time_ns", 2'500'000'000},
             {"step", 12},
             {"fault", {{"kind", "slow"}, {"rank", 1}, {"step", 40}, {"text", "3 times"}}}});
  EXPECT_EQ(history.faults().back().step, 40) << "of an asynchronous rank";
}

TEST(History, weights_the_loss_by_samples_over_all_ranks) {
  History history = history_of(2);
  take_events(history, 0, report(0, 30, 5, 10, 1));
  EXPECT_TRUE(history.train_loss().empty()) << "rank 1 has not reported";
  take_events(history, 1, report(0, 2, 1, 2, 3));
  ASSERT_EQ(history.train_loss().size(), 1u);
  EXPECT_DOUBLE_EQ(history.train_loss()[0].value, 32.0 / 12);
  EXPECT_DOUBLE_EQ(history.train_loss()[0].seconds, 2);
  ASSERT_EQ(history.train_accuracy().size(), 1u);
  EXPECT_DOUBLE_EQ(history.train_accuracy()[0].value, 0.5);
}

TEST(History, waits_for_other_ranks_before_it_completes_a_step) {
  History history = history_of(2);
  for (int step = 0; step < 3; ++step) take_events(history, 0, report(step, step, 0, 1, step));
  for (int step = 0; step < 3; ++step) take_events(history, 1, report(step, step, 0, 1, step));
  ASSERT_EQ(history.train_loss().size(), 3u);
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(history.train_loss()[static_cast<std::size_t>(step)].step, step);
    EXPECT_DOUBLE_EQ(history.train_loss()[static_cast<std::size_t>(step)].value, step);
  }
}

TEST(History, has_no_value_for_a_step_with_a_lost_report_but_for_the_next) {
  History history = history_of(2);
  take_events(history, 0, report(0, 1, 1, 1, 0));
  take_events(history, 1,
              {metric(Metric::correct, 0, 1, 0),
               metric(Metric::samples, 0, 1, 0)});  // its loss was dropped
  EXPECT_TRUE(history.train_loss().empty());
  EXPECT_EQ(history.train_accuracy().size(), 1u);
  take_events(history, 0, report(1, 1, 1, 1, 1));  // rank 1 lost all of step 1
  take_events(history, 0, report(2, 4, 1, 1, 2));
  take_events(history, 1, report(2, 2, 1, 1, 2));
  ASSERT_EQ(history.train_loss().size(), 1u);
  EXPECT_EQ(history.train_loss()[0].step, 2);
  EXPECT_DOUBLE_EQ(history.train_loss()[0].value, 3);
}

TEST(History, keeps_held_out_figures_separate) {
  History history = history_of(1);
  take_events(
      history, 0,
      {metric(Metric::held_out_loss_sum, 9, 5, 0), metric(Metric::held_out_correct, 9, 8, 0),
       metric(Metric::held_out_samples, 9, 10, 0)});
  EXPECT_TRUE(history.train_loss().empty());
  ASSERT_EQ(history.held_out_loss().size(), 1u);
  EXPECT_EQ(history.held_out_loss()[0].step, 9);
  EXPECT_DOUBLE_EQ(history.held_out_loss()[0].value, 0.5);
  EXPECT_DOUBLE_EQ(history.held_out_accuracy()[0].value, 0.8);
}

// Evaluations are 500 steps apart, and by several ranks: one may be over before an earlier one. The
// last is after the last step, wherever that is.
TEST(History, places_measurements_after_the_last_step) {
  const auto evaluate = [](History& history, int step) {
    take_events(history, 0,
                {metric(Metric::held_out_loss_sum, step, 5, 0),
                 metric(Metric::held_out_correct, step, 8, 0),
                 metric(Metric::held_out_samples, step, 10, 0)});
  };
  const base::Json header{{"reports_of_evaluation", 1}, {"steps_apart", 500}};
  History shorter = history_of(2, header);
  evaluate(shorter, 29);
  ASSERT_EQ(shorter.held_out_accuracy().size(), 1u);
  History longer = history_of(2, header);
  evaluate(longer, 599);
  EXPECT_TRUE(longer.held_out_accuracy().empty()) << "the one of step 499 may still arrive";
  evaluate(longer, 499);
  ASSERT_EQ(longer.held_out_accuracy().size(), 2u);
  EXPECT_EQ(longer.held_out_accuracy().back().step, 599);
  History lost = history_of(2, header);
  evaluate(lost, 599);
  lost.conclude();
  ASSERT_EQ(lost.held_out_accuracy().size(), 1u);
}

TEST(History, keeps_the_last_ops_and_counts_dropped_ones) {
  History history = history_of(1);
  const std::size_t written = History::kept_ops * 2;
  std::vector<Event> block(1000);
  for (std::size_t i = 0; i < written; i += block.size()) {
    for (std::size_t j = 0; j < block.size(); ++j)
      block[j] = op(0, 0, static_cast<int>(i + j), 0, 0, 0);
    take_events(history, 0, block);
  }
  EXPECT_GE(history.ops().size(), History::kept_ops);
  EXPECT_LE(history.ops().size(), History::kept_ops + History::kept_ops / 4);
  EXPECT_EQ(history.evicted_ops() + history.ops().size(), written);
  EXPECT_EQ(history.ops().front().step, static_cast<int>(history.evicted_ops()));
  EXPECT_EQ(history.ops().back().step, static_cast<int>(written - 1));
}

TEST(History, reports_a_truncated_tail_and_keeps_the_rest) {
  const TemporaryDirectory directory;
  write_small_recording(directory.recording());
  const std::string bytes = file_bytes(directory.recording());
  write_bytes(directory.recording(), bytes.substr(0, bytes.size() - 3));
  const auto history = History::load(directory.path());
  ASSERT_TRUE(history);
  EXPECT_THAT(history->damage(), HasSubstr(" bytes "));
  EXPECT_EQ(history->result().at("status"), "completed");
}

TEST(History, ignores_values_of_another_type_and_reports_the_first) {
  History history = history_of(2);
  EXPECT_EQ(history.damage(), "");
  take_json(history, FrameType::state, -1,
            {{"state", "training"}, {"time_ns", "soon"}, {"seconds_per_step", 0.5}});
  take_json(history, FrameType::result, -1,
            {{"status", "completed"}, {"steps", {1, 2}}, {"wall_seconds", 1.5}});
  ASSERT_EQ(history.recorded_states().size(), 1u);
  EXPECT_EQ(history.recorded_states()[0].state, "training");
  EXPECT_EQ(history.recorded_states()[0].time_ns, std::nullopt);
  EXPECT_EQ(history.recorded_states()[0].seconds_per_step, 0.5);
  ASSERT_TRUE(history.recorded_result());
  EXPECT_EQ(history.recorded_result()->status, "completed");
  EXPECT_EQ(history.recorded_result()->steps, 0);
  EXPECT_EQ(history.recorded_result()->wall_seconds, 1.5);
  EXPECT_THAT(history.damage(), HasSubstr("state frame: time_ns"));
}

TEST(History, ignores_invalid_values_of_the_header) {
  const History history = history_of(
      2, {{"evaluator", "none"}, {"steps_apart", 0}, {"lambda_2", nullptr}, {"cores", 3}});
  EXPECT_EQ(history.ranks(), 2);
  EXPECT_EQ(history.recorded_header().evaluator, -1);
  EXPECT_FALSE(history.steps_apart());
  EXPECT_TRUE(std::isnan(history.recorded_header().lambda_2));
  EXPECT_EQ(history.recorded_header().cores, 3);
  EXPECT_THAT(history.damage(), HasSubstr("header frame: "));
}

TEST(History, ignores_events_of_impossible_steps) {
  History history = history_of(1);
  take_events(history, 0,
              {metric(Metric::samples, std::numeric_limits<std::int32_t>::max(), 8, 1),
               metric(Metric::samples, -2, 8, 1), metric(Metric::samples, 4, 8, 1)});
  ASSERT_NE(history.find({Metric::samples, 0, 0}), nullptr);
  EXPECT_EQ(history.find({Metric::samples, 0, 0})->steps, (std::vector<std::int32_t>{4}));
  EXPECT_THAT(history.damage(), HasSubstr("2147483647"));
}

TEST(History, skips_a_malformed_frame_and_reads_the_rest) {
  const TemporaryDirectory directory;
  write_bytes(directory.recording(), frame_bytes(1, -1, R"({"schema":1,"ranks":1})") +
                                         frame_bytes(5, -1, "[1, 2]") +
                                         frame_bytes(7, -1, R"({"status":"completed"})"));
  const auto history = History::load(directory.path());
  ASSERT_TRUE(history);
  EXPECT_NE(history->damage(), "");
  ASSERT_TRUE(history->recorded_result());
  EXPECT_EQ(history->recorded_result()->status, "completed");
}

TEST(History, reports_damage_and_keeps_what_precedes_it) {
  const TemporaryDirectory directory;
  write_bytes(directory.recording(), frame_bytes(1, -1, R"({"schema":1,"ranks":1})") +
                                         frame_bytes(2, 0, "plan") + "what is this, then?!");
  const auto history = History::load(directory.path());
  ASSERT_TRUE(history);
  EXPECT_THAT(history->damage(), HasSubstr(", byte "));
  EXPECT_EQ(history->plan_text(0), "plan");
}

TEST(History, reports_a_missing_recording) {
  const TemporaryDirectory directory;
  EXPECT_FALSE(History::load(directory.path()));
}

TEST(History, refuses_invalid_frames) {
  History history;
  const auto take = [&](FrameType type, std::string_view payload) {
    return history.take({type, 0, std::as_bytes(std::span(payload))}).has_value();
  };
  for (const char* header : {"{}", "[]", R"({"ranks":0})", R"({"ranks":1e30})",
                             R"({"ranks":99999999999})", R"({"ranks":"2"})"})
    EXPECT_FALSE(take(FrameType::header, header)) << header;
  EXPECT_FALSE(take(FrameType::state, "7"));
  EXPECT_FALSE(take(FrameType::log, "no json"));
  EXPECT_FALSE(take(FrameType::events, "not 48 bytes"));
  EXPECT_FALSE(take(FrameType::events, std::string(48, '\xEE')));
  EXPECT_TRUE(history.header().is_null());
  EXPECT_TRUE(history.states().empty());
}

TEST(History, skips_frames_and_metrics_of_later_versions) {
  History history = history_of(1);
  EXPECT_TRUE(history.take({FrameType{99}, 0, {}}));
  Event unknown = metric(Metric::loss_sum, 0, 1, 0);
  unknown.subject = 999;
  take_events(history, 0, {unknown});
  EXPECT_TRUE(history.series().empty());
}

History apart(int ranks, int evaluates_every = 10) {
  History history;
  base::Json header = small_header(ranks);
  header["reports_of_step"] = header["reports_of_evaluation"] = 1;
  header["steps_apart"] = evaluates_every;
  take_json(history, FrameType::header, -1, header);
  return history;
}

std::vector<std::int32_t> steps_of(const StepValues& values) {
  std::vector<std::int32_t> steps;
  for (const StepValue& value : values) steps.push_back(value.step);
  return steps;
}

TEST(History, orders_steps_that_ranks_complete_separately) {
  History history = apart(3);
  EXPECT_TRUE(history.steps_apart());
  EXPECT_EQ(history.reports_of_step(), 1);
  take_events(history, 1, report(1, 2, 1, 4, 10));
  take_events(history, 1, report(3, 4, 1, 4, 11));
  EXPECT_TRUE(history.train_loss().empty()) << "step 0 is still in progress";
  take_events(history, 0, report(0, 8, 1, 4, 12));
  EXPECT_EQ(steps_of(history.train_loss()), (std::vector<std::int32_t>{0, 1}));
  EXPECT_DOUBLE_EQ(history.train_loss()[1].value, 0.5);
  EXPECT_GE(history.train_loss()[1].seconds, history.train_loss()[0].seconds)
      << "it is complete when all earlier steps are";
  take_events(history, 2, report(2, 4, 1, 4, 13));
  EXPECT_EQ(steps_of(history.train_loss()), (std::vector<std::int32_t>{0, 1, 2, 3}));
}

// With backup workers, the first server applies the gradients of two of three workers.
TEST(History, counts_only_workers_whose_gradients_were_applied) {
  History history = history_of(4, {{"reports_of_step", 2},
                                   {"reports_of_evaluation", 1},
                                   {"steps_apart", 10},
                                   {"first_server", 3},
                                   {"only_applied", true}});
  const auto applied = [](int step, int worker) {
    return metric(Metric::staleness, step, 0, 10, worker);
  };
  for (int worker = 0; worker < 2; ++worker) take_events(history, worker, report(0, 2, 1, 4, 10));
  take_events(history, 3, {applied(0, 0), applied(0, 2)});
  EXPECT_TRUE(history.train_loss().empty()) << "rank 2 has not reported";
  take_events(history, 2, report(0, 6, 3, 4, 11));
  ASSERT_EQ(history.train_loss().size(), 1u);
  EXPECT_DOUBLE_EQ(history.train_loss()[0].value, 1) << "(2 + 6) / 8, without rank 1";
  EXPECT_DOUBLE_EQ(history.train_accuracy()[0].value, 0.5);
  for (int worker = 0; worker < 3; ++worker)
    take_events(history, worker, report(1, worker, 1, 4, 12));
  EXPECT_EQ(history.train_loss().size(), 1u);
  take_events(history, 3, {applied(1, 1), applied(1, 2)});
  ASSERT_EQ(history.train_loss().size(), 2u);
  EXPECT_DOUBLE_EQ(history.train_loss()[1].value, 3.0 / 8);
}

TEST(History, delays_at_most_a_few_hundred_steps_for_a_lost_report) {
  History history = apart(2);
  for (int step = 1; step <= 256; ++step) take_events(history, 1, report(step, 2, 1, 4, step));
  EXPECT_TRUE(history.train_loss().empty());
  take_events(history, 1, report(257, 2, 1, 4, 257));
  EXPECT_EQ(history.train_loss().size(), 257u);
  take_events(history, 0, report(0, 8, 1, 4, 258));
  EXPECT_EQ(history.train_loss().size(), 257u) << "given up";
}

TEST(History, completes_pending_steps_at_the_end) {
  History history = apart(2);
  take_events(history, 1, report(5, 2, 1, 4, 10));
  take_json(history, FrameType::result, -1, {{"type", "result"}});
  EXPECT_EQ(steps_of(history.train_loss()), (std::vector<std::int32_t>{5}));
}

TEST(History, orders_evaluations_of_one_rank) {
  History history = apart(2, 10);
  const auto evaluated = [](int step) {
    return std::vector<Event>{metric(Metric::held_out_loss_sum, step, 1, 10),
                              metric(Metric::held_out_correct, step, 1, 10),
                              metric(Metric::held_out_samples, step, 2, 10)};
  };
  take_events(history, 1, evaluated(19));
  EXPECT_TRUE(history.held_out_loss().empty());
  take_events(history, 0, evaluated(9));
  EXPECT_EQ(steps_of(history.held_out_loss()), (std::vector<std::int32_t>{9, 19}));
}

TEST(History, reports_the_consensus_distance_once_all_ranks_have_reported) {
  History history;
  auto header = small_header(2);
  header["lambda_2"] = 0.5;
  take_json(history, FrameType::header, -1, header);
  take_events(history, 0,
              {metric(Metric::squared_consensus_distance, 9, 10, 1),
               metric(Metric::squared_consensus_distance, 11, 4, 2),
               metric(Metric::squared_consensus_distance, 12, 32, 3)});
  EXPECT_TRUE(history.consensus_distance().empty()) << "rank 1 has reported nothing";
  take_events(history, 1,
              {metric(Metric::squared_consensus_distance, 9, 22, 1.5),
               metric(Metric::squared_consensus_distance, 11, 0.5, 2.5),
               metric(Metric::squared_consensus_distance, 12, 40, 3.5)});
  ASSERT_EQ(history.consensus_distance().size(), 3u);
  EXPECT_EQ(history.consensus_distance()[0].step, 9);
  EXPECT_DOUBLE_EQ(history.consensus_distance()[0].value, 4) << "the root of (10 + 22) / 2";
  EXPECT_DOUBLE_EQ(history.consensus_distance()[1].value, 1.5);
  EXPECT_DOUBLE_EQ(history.consensus_distance()[2].value, 6) << "gradients have driven them apart";
  std::vector<std::pair<int, double>> decay;
  for (const StepValue& left : history.consensus_decay()) decay.emplace_back(left.step, left.value);
  EXPECT_EQ(decay, (std::vector<std::pair<int, double>>{
                       {9, 4}, {10, 2}, {11, 1}, {11, 1.5}, {12, 0.75}, {12, 6}}))
      << "again from each measured step";
  EXPECT_DOUBLE_EQ(
      history.consensus_decay()[1].seconds,
      (history.consensus_distance()[0].seconds + history.consensus_distance()[1].seconds) / 2);
}

TEST(History, fills_a_long_gap_between_distances_with_its_first_and_last_steps) {
  History history;
  auto header = small_header(1);
  header["lambda_2"] = 0.999;
  take_json(history, FrameType::header, -1, header);
  take_events(history, 0,
              {metric(Metric::squared_consensus_distance, 0, 1, 1),
               metric(Metric::squared_consensus_distance, 5000, 1, 2)});
  const auto& decay = history.consensus_decay();
  ASSERT_EQ(decay.size(), 1u + History::kDecaySteps + 2);
  EXPECT_EQ(decay[History::kDecaySteps].step, History::kDecaySteps);
  EXPECT_EQ(decay[History::kDecaySteps + 1].step, 5000);
  EXPECT_DOUBLE_EQ(decay[History::kDecaySteps + 1].value, std::pow(0.999, 5000));
}

// No run writes such frames, but a damaged or foreign recording may have them. Later steps are
// ignored.
TEST(History, handles_the_longest_gap_between_distances) {
  History history;
  auto header = small_header(1);
  header["lambda_2"] = 0.5;
  take_json(history, FrameType::header, -1, header);
  constexpr int kLast = std::numeric_limits<std::int32_t>::max() / 4, kFirst = -1;
  take_events(history, 0,
              {metric(Metric::squared_consensus_distance, kFirst, 1, 1),
               metric(Metric::squared_consensus_distance, kLast, 1, 2),
               metric(Metric::squared_consensus_distance, kLast + 1, 1, 3)});
  const auto& decay = history.consensus_decay();
  ASSERT_EQ(decay.size(), 1u + History::kDecaySteps + 2);
  EXPECT_EQ(decay.back().step, kLast);
}

TEST(History, skips_a_distance_with_a_lost_report) {
  History history = history_of(2);
  take_events(history, 0,
              {metric(Metric::squared_consensus_distance, 1, 1, 1),
               metric(Metric::squared_consensus_distance, 2, 8, 2)});
  take_events(history, 1, {metric(Metric::squared_consensus_distance, 2, 10, 2)});
  ASSERT_EQ(history.consensus_distance().size(), 1u);
  EXPECT_DOUBLE_EQ(history.consensus_distance()[0].value, 3);
  EXPECT_TRUE(history.consensus_decay().empty()) << "the header names no eigenvalue";
}

}  // namespace
}  // namespace trainyard::telemetry
