// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinator and ranks together, without a process or a socket: what a run tells.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/session/checkpoint/checkpoint.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/wrapped_transport.h"

namespace trainyard::conformance {
namespace {

using session::RunState;

TEST(Session, completes_and_reports_its_result) {
  SessionRun run(session_experiment(3, 40));
  const auto outcome = run.result();
  ASSERT_FALSE(outcome.problem) << base::to_string(*outcome.problem);
  EXPECT_EQ(outcome.state, RunState::finished);
  const base::Json& r = outcome.result;
  EXPECT_EQ(r["type"], "result");
  EXPECT_EQ(r["status"], "completed");
  EXPECT_EQ(r["steps"], 40);
  EXPECT_EQ(r["samples"], 40 * 24);
  EXPECT_GT(r["wall_seconds"], 0.0);
  EXPECT_GT(r["first_step_seconds"], 0.0);
  EXPECT_LE(r["first_step_seconds"], r["wall_seconds"]);
  EXPECT_GT(r["samples_per_second"], 0.0);
  EXPECT_LE(r["step_seconds"]["median"], r["step_seconds"]["p95"]);
  EXPECT_GT(r["train_loss"], 0.0);
  EXPECT_GT(r["held_out_accuracy"], 0.5);
  EXPECT_EQ(r["staleness"]["max"], 0);
  EXPECT_EQ(r["run_directory"], std::filesystem::absolute(run.directory()).string());
  EXPECT_FALSE(r.contains("problem"));
}

TEST(Session, ranks_report_equal_weights_and_their_bytes) {
  SessionRun run(session_experiment(3, 12));
  const base::Json r = run.result().result;
  std::set<std::string> weights;
  std::int64_t sent = 0, received = 0;
  for (const base::Json& rank : r["ranks"]) {
    EXPECT_EQ(rank["role"], "worker");
    EXPECT_TRUE(rank["peak_memory_bytes"].is_null()) << "threads have no process memory";
    weights.insert(rank["parameters_xxh64"].get<std::string>());
    sent += rank["sent_bytes"].get<std::int64_t>();
    received += rank["received_bytes"].get<std::int64_t>();
  }
  EXPECT_EQ(r["ranks"].size(), 3u);
  EXPECT_EQ(weights.size(), 1u);
  EXPECT_GT(sent, 0);
  EXPECT_EQ(sent, received);
  EXPECT_EQ(r["wire_bytes"]["payload"], sent);
}

// Recorded values of one rank, by step.
std::vector<double> recorded_values(const telemetry::History& history, telemetry::Metric metric,
                                    int rank, int index = 0) {
  const auto* series = history.find({metric, rank, index});
  return series == nullptr ? std::vector<double>{} : series->values;
}

void expect_near(const std::vector<double>& values, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(values.size(), expected.size()) << what;
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], expected[i], 1e-4 * std::abs(expected[i])) << what << " of step " << i;
}

// Norms of the mean gradient equal those of one device with the same global batch.
TEST(Session, gradient_norms_of_ranks_equal_those_of_one_device) {
  using telemetry::Metric;
  SessionRun one(session_experiment(1, 20)), three(session_experiment(3, 20));
  ASSERT_EQ(state_of(one.result()), "finished");
  ASSERT_EQ(state_of(three.result()), "finished");
  const auto alone = telemetry::History::load(one.directory()),
             together = telemetry::History::load(three.directory());
  ASSERT_TRUE(alone && together);
  for (const int segment : {0, 1}) {
    const auto reduced = recorded_values(*alone, Metric::reduced_gradient_norm, 0, segment),
               ratio = recorded_values(*alone, Metric::update_ratio, 0, segment);
    ASSERT_EQ(reduced.size(), 20u);
    expect_near(recorded_values(*alone, Metric::local_gradient_norm, 0, segment), reduced,
                "local norm, to which no peer adds,");
    std::vector<double> mean_of_local(20);
    for (int rank = 0; rank < 3; ++rank) {
      expect_near(recorded_values(*together, Metric::reduced_gradient_norm, rank, segment), reduced,
                  "reduced norm of rank " + std::to_string(rank));
      expect_near(recorded_values(*together, Metric::update_ratio, rank, segment), ratio,
                  "update ratio of rank " + std::to_string(rank));
      const auto local = recorded_values(*together, Metric::local_gradient_norm, rank, segment);
      ASSERT_EQ(local.size(), 20u);
      for (std::size_t i = 0; i < 20; ++i) mean_of_local[i] += local[i] / 3;
    }
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_GT(mean_of_local[i], reduced[i] * (1 - 1e-6))
          << "the norm of the mean is at most the mean of the norms";
  }
}

TEST(Session, parts_of_a_step_add_up_to_it) {
  using telemetry::Metric;
  SessionRun run(session_experiment(3, 20));
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  for (int rank = 0; rank < 3; ++rank) {
    const auto step = recorded_values(*history, Metric::step_seconds, rank);
    ASSERT_EQ(step.size(), 20u);
    std::vector<double> parts(20);
    for (const Metric part : {Metric::compute_seconds, Metric::transfer_seconds,
                              Metric::wait_seconds, Metric::input_seconds}) {
      const auto values = recorded_values(*history, part, rank);
      ASSERT_EQ(values.size(), 20u);
      for (std::size_t i = 0; i < 20; ++i) parts[i] += values[i];
    }
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_LE(parts[i], step[i] + 1e-9)
          << "step " << i << ": what is left is overhead of the loop";
    EXPECT_GT(std::ranges::max(recorded_values(*history, Metric::compute_seconds, rank)), 0);
  }
}

// Under AddressSanitizer this reads freed memory when what a rank posted from goes before its
// transport.
TEST(Session, transport_may_send_until_it_is_destroyed) {
  SessionPieces pieces;
  pieces.transport = [](int, std::unique_ptr<comm::Transport> end) {
    return std::make_unique<LateTransport>(std::move(end));
  };
  SessionRun run(session_experiment(3, 5), std::move(pieces));
  const auto outcome = run.result();
  EXPECT_EQ(outcome.state, RunState::finished) << state_of(outcome);
}

TEST(Session, one_rank_needs_no_peer) {
  SessionRun run(session_experiment(1, 10));
  const auto outcome = run.result();
  EXPECT_EQ(state_of(outcome), "finished");
  EXPECT_EQ(outcome.result["wire_bytes"]["payload"], 0);
}

TEST(Session, run_directory_is_complete) {
  SessionRun run(session_experiment(2, 30));
  const auto outcome = run.result();
  for (const char* file : {"experiment.json", "resolved.json", "plan.txt", "run.log", "result.json",
                           "recording.try", "checkpoints/step-30/manifest.json"})
    EXPECT_TRUE(std::filesystem::exists(run.directory() / file)) << file;
  EXPECT_FALSE(std::filesystem::exists(run.directory() / "control"))
      << "the file marks a running run";
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  EXPECT_EQ(history->damage(), "");
  EXPECT_EQ(history->train_loss().size(), 30u);
  EXPECT_EQ(history->result(), outcome.result);
  EXPECT_EQ(history->ranks(), 2);
}

TEST(Session, checkpoint_has_the_weights_of_the_result) {
  SessionRun run(session_experiment(2, 20));
  const auto outcome = run.result();
  const auto resolved = experiment::resolve(session_experiment(2, 20), ".").value();
  std::vector<float> weights(static_cast<std::size_t>(resolved.model.elements));
  const compute::Tensor parameters{
      base::DType::fp32, {resolved.model.elements}, reinterpret_cast<std::byte*>(weights.data())};
  const auto info =
      session::read_checkpoint(run.directory() / "checkpoints", resolved.model, parameters);
  ASSERT_TRUE(info) << base::to_string(info.error());
  EXPECT_EQ(info->info.step, 20);
  EXPECT_EQ(base::hex(base::xxh64(std::as_bytes(std::span(weights)))),
            outcome.result["ranks"][0]["parameters_xxh64"]);
}

}  // namespace
}  // namespace trainyard::conformance
