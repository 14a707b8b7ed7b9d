// SPDX-License-Identifier: GPL-3.0-or-later
// Verification of complete runs, in one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/experiment/fields.h"
#include "core/session/checkpoint/model_weights.h"
#include "core/session/system/run_documents.h"
#include "core/session/verify/verify.h"
#include "tests/conformance/session_run.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using session::CheckStatus;
using session::FigureCheck;
using testing::HasSubstr;

base::Result<std::unique_ptr<compute::Compute>> reference(const topology::Device&) {
  return compute::reference::make();
}

session::Verification verified(const std::filesystem::path& run_directory) {
  return session::verify_run(run_directory, reference).value();
}

std::map<std::string, FigureCheck> by_name(const session::Verification& verification) {
  std::map<std::string, FigureCheck> checks;
  for (const FigureCheck& check : verification.checks) checks.emplace(check.name, check);
  return checks;
}

void expect_ok(const session::Verification& verification, const std::string& name) {
  const auto checks = by_name(verification);
  ASSERT_TRUE(checks.contains(name)) << name;
  EXPECT_EQ(checks.at(name).status, CheckStatus::ok) << name << ": " << checks.at(name).note;
}

experiment::Experiment recorded_experiment(int ranks, experiment::StrategyKind kind) {
  experiment::Experiment e = session_experiment(ranks, 25);
  e.strategy.kind = kind;
  e.run.record_ops = true;
  return e;
}

class VerifiedSession : public testing::TestWithParam<experiment::StrategyKind> {};

TEST_P(VerifiedSession, matches_its_result) {
  const int ranks = GetParam() == experiment::StrategyKind::one_device ? 1 : 3;
  SessionRun run(recorded_experiment(ranks, GetParam()));
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto verification = verified(run.directory());
  for (const FigureCheck& check : verification.checks)
    EXPECT_NE(check.status, CheckStatus::mismatch)
        << check.name << ": stated " << check.stated << ", recomputed " << check.recomputed << ", "
        << check.note;
  for (const char* name : {"recording", "plan_hash", "steps", "samples", "assigned_samples",
                           "train_loss", "recorded_held_out_loss", "recorded_held_out_accuracy",
                           "wire_bytes.payload", "wire_bytes.header", "received_payload_bytes",
                           "op_bytes", "checkpoint", "held_out_loss", "held_out_accuracy"})
    expect_ok(verification, name);
}

INSTANTIATE_TEST_SUITE_P(
    Strategies, VerifiedSession,
    testing::Values(experiment::StrategyKind::one_device, experiment::StrategyKind::mirrored,
                    experiment::StrategyKind::ddp, experiment::StrategyKind::data_parallel,
                    experiment::StrategyKind::fsdp, experiment::StrategyKind::local_sgd),
    [](const auto& kind) { return std::string(base::name_of(kind.param)); });

TEST(Verify, of_one_device_is_bit_equal) {
  SessionRun run(recorded_experiment(1, experiment::StrategyKind::one_device));
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto checks = by_name(verified(run.directory()));
  EXPECT_THAT(checks.at("held_out_loss").note, HasSubstr("bit-equal"));
  EXPECT_EQ(checks.at("ranks.0.parameters_xxh64").status, CheckStatus::ok);
}

TEST(Verify, finds_weights_that_are_not_those_of_the_run) {
  SessionRun run(recorded_experiment(3, experiment::StrategyKind::mirrored));
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto resolved = session::read_resolved(run.directory()).value();
  session::ModelWeights weights(resolved);
  const auto checkpoints = run.directory() / session::kCheckpointsDirectory;
  const auto read =
      session::read_checkpoint(checkpoints, resolved.model, weights.tensors()).value();
  const compute::Tensor parameters = weights.parameters();
  for (int i = 0; i < 20; ++i) parameters.as<float>()[i] += 1;
  ASSERT_TRUE(session::write_checkpoint(checkpoints, read.info, resolved.model, weights.tensors()));
  const auto verification = verified(run.directory());
  EXPECT_FALSE(verification.matches());
  const auto checks = by_name(verification);
  for (const char* name : {"held_out_loss", "ranks.0.parameters_xxh64"})
    EXPECT_EQ(checks.at(name).status, CheckStatus::mismatch) << name;
  expect_ok(verification, "recorded_held_out_loss");
}

TEST(Verify, names_what_is_not_checked_and_why) {
  auto e = recorded_experiment(2, experiment::StrategyKind::mirrored);
  e.run.record_ops = false;
  SessionRun run(e);
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto verification = verified(run.directory());
  EXPECT_TRUE(verification.matches());
  const auto checks = by_name(verification);
  EXPECT_EQ(checks.at("op_bytes").status, CheckStatus::not_checked);
  EXPECT_THAT(checks.at("op_bytes").note, HasSubstr("run.record_ops"));
  std::filesystem::remove_all(run.directory() / session::kCheckpointsDirectory);
  const auto without = verified(run.directory());
  EXPECT_TRUE(without.matches());
  EXPECT_EQ(by_name(without).at("checkpoint").status, CheckStatus::not_checked);
}

// An evaluation uses the running statistics of the checkpoint, which differ from those of rank 1.
TEST(Verify, finds_the_evaluation_of_batch_normalization_right) {
  auto e = recorded_experiment(2, experiment::StrategyKind::mirrored);
  e.model.layers[1].kind = model::LayerKind::batch_norm;
  SessionRun run(e);
  ASSERT_EQ(state_of(run.result()), "finished");
  const auto verification = verified(run.directory());
  expect_ok(verification, "held_out_loss");
  expect_ok(verification, "held_out_accuracy");
}

TEST(Verify, needs_a_result) {
  SessionRun run(recorded_experiment(2, experiment::StrategyKind::mirrored));
  ASSERT_EQ(state_of(run.result()), "finished");
  std::filesystem::remove(run.directory() / session::kResultFile);
  EXPECT_TRUE(verified(run.directory()).matches()) << "the recording has the result, too";
  const auto recording = run.directory() / telemetry::kRecordingFile;
  std::filesystem::resize_file(recording, std::filesystem::file_size(recording) / 2);
  const auto verification = session::verify_run(run.directory(), reference);
  ASSERT_FALSE(verification);
  EXPECT_THAT(verification.error(),
              base::IsProblem("run_without_result", run.directory().string()));
}

}  // namespace
}  // namespace trainyard::conformance
