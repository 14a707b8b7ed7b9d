// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/replay/sample_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/base/file.h"
#include "core/experiment/resolve.h"
#include "core/session/system/run_documents.h"
#include "tests/core/session/recorded_run.h"
#include "tests/drawings.h"
#include "tests/problem_matchers.h"

namespace trainyard::session {
namespace {

using telemetry::Event;
using telemetry::Metric;

constexpr int kBatch = 4;

// Two ranks, two micro-steps of 4 samples: 16 samples per step. An epoch of 43 samples has two full
// steps and a step of 11 samples, of which rank 0 takes 6 and rank 1 takes 5.
experiment::Resolved two_ranks(experiment::StrategyKind kind = experiment::StrategyKind::mirrored) {
  experiment::Experiment e;
  e.topology.hosts = {tests::drawn_host("alpha", 2)};
  e.data.kind = data::DataKind::blobs;
  e.data.train_samples = 43;
  e.data.held_out_samples = 10;
  e.model.layers = {{model::LayerKind::linear, 0}};
  e.strategy.kind = kind;
  e.training.batch_per_rank = kBatch;
  e.training.accumulation_steps = kind == experiment::StrategyKind::mirrored ? 2 : 1;
  e.training.steps = 8;
  return experiment::resolve(e, ".").value();
}

// Events of a rank that completed these steps.
std::vector<Event> completed(int first, int end) {
  std::vector<Event> events;
  for (int step = first; step < end; ++step)
    events.push_back(metric_event(Metric::samples, step, 0));
  return events;
}

void write_resolved(const RecordedRun& run, const experiment::Resolved& e) {
  EXPECT_TRUE(base::write_file_atomically(run.directory() / kResolvedFile,
                                          base::to_text(experiment::to_json(e))));
}

std::string order_of(const experiment::Resolved& e,
                     const std::vector<std::vector<Event>>& by_rank) {
  const RecordedRun run;
  run.write({{"ranks", by_rank.size()}}, by_rank);
  write_resolved(run, e);
  std::ostringstream out;
  EXPECT_TRUE(write_sample_order(run.directory(), out));
  return out.str();
}

// Lines that the sampler gives, cut into micro-steps of kBatch samples.
std::string expected(const experiment::Resolved& e, int steps) {
  auto sampler = experiment::sampler(e).value();
  std::string text = "step,micro_step,rank,position,sample\n";
  for (int step = 0; step < steps; ++step)
    for (int micro = 0; micro < 2; ++micro)
      for (int rank = 0; rank < 2; ++rank) {
        const auto samples = sampler.indices(step, rank);
        for (std::ptrdiff_t i = micro * kBatch;
             i < std::min<std::ptrdiff_t>(std::ssize(samples), (micro + 1) * kBatch); ++i)
          text += std::to_string(step) + "," + std::to_string(micro) + "," + std::to_string(rank) +
                  "," + std::to_string(i - micro * kBatch) + "," +
                  std::to_string(samples[static_cast<std::size_t>(i)]) + "\n";
      }
  return text;
}

TEST(SampleOrder, equals_the_sampler_also_in_the_shorter_last_step_of_an_epoch) {
  const auto e = two_ranks();
  ASSERT_EQ(e.steps_per_epoch, 3);
  ASSERT_EQ(e.tail_samples, 11);
  EXPECT_EQ(order_of(e, {completed(0, 7), completed(0, 7)}), expected(e, 7));
}

TEST(SampleOrder, has_every_sample_once_per_epoch) {
  std::istringstream lines(order_of(two_ranks(), {completed(0, 3), completed(0, 3)}));
  std::multiset<int> samples;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) samples.insert(std::stoi(line.substr(line.rfind(',') + 1)));
  EXPECT_EQ(samples.size(), 43u);
  EXPECT_EQ(std::set<int>(samples.begin(), samples.end()).size(), 43u);
}

TEST(SampleOrder, has_only_steps_that_a_rank_completed) {
  const std::string order = order_of(two_ranks(), {completed(0, 2), completed(0, 1)});
  EXPECT_THAT(order, testing::HasSubstr("\n0,0,1,0,"));
  EXPECT_THAT(order, testing::HasSubstr("\n1,0,0,0,"));
  EXPECT_THAT(order, testing::Not(testing::HasSubstr("\n1,0,1,0,")));
}

// Rank 0 of data_parallel loads all samples and scatters them.
TEST(SampleOrder, of_data_parallel_names_the_rank_that_computes) {
  const std::string order = order_of(two_ranks(experiment::StrategyKind::data_parallel),
                                     {completed(0, 1), completed(0, 1)});
  EXPECT_EQ(std::count(order.begin(), order.end(), '\n'), 1 + 2 * kBatch);
  EXPECT_THAT(order, testing::HasSubstr("\n0,0,1,3,"));
}

TEST(SampleOrder, of_a_recording_that_lacks_events_is_refused) {
  const RecordedRun run;
  auto events = completed(0, 3);
  events.push_back(metric_event(Metric::dropped_events, 2, 5));
  run.write({{"ranks", 1}}, {events});
  write_resolved(run, two_ranks());
  std::ostringstream out;
  const auto written = write_sample_order(run.directory(), out);
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error(), base::IsProblem("recording_incomplete", run.directory().string()));
}

}  // namespace
}  // namespace trainyard::session
