// SPDX-License-Identifier: GPL-3.0-or-later
// Control flow of a sweep, with scripts in place of trainyard-cli. Runs that train are in
// tests/process/sweep_test.cpp.
#include "core/session/sweep/sweep_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/base/fields.h"
#include "core/experiment/document.h"
#include "core/session/sweep/sweep_file.h"
#include "core/session/sweep/sweep_measure.h"
#include "tests/core/session/sweep/sweeps.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class SweepRun : public testing::Test {
 protected:
  SweepRun() { fs::create_directories(directory_); }
  ~SweepRun() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
    fs::remove(program(), ignored);
  }
  std::string program() const { return directory_.string() + ".sh"; }

  // Three runs by a script, whose $2 is the experiment and $4 the directory.
  Sweep sweep(const std::string& script) {
    std::ofstream(program()) << "#!/bin/bash\n" << script;
    fs::permissions(program(), fs::perms::owner_all);
    SweepParts parts;
    parts.whole = four_ranks();
    parts.sweep = make_sweep(parts.whole, {}).value();
    parts.directory = directory_;
    parts.program = program();
    parts.interrupts = [this] { return fs::exists(directory_ / "interrupted") ? 1 : 0; };
    parts.observe = [this](const Sweep& now) {
      std::string states;
      for (const SweepVariant& one : now.variants)
        states += std::string(base::name_of(one.state)) + " ";
      observed_.push_back(states);
      EXPECT_EQ(base::write_document(read_sweep(directory_)->variants[0]),
                base::write_document(now.variants[0]))
          << "observed before it was kept";
    };
    return run_sweep(std::move(parts)).value();
  }

  fs::path directory_ =
      fs::temp_directory_path() / ("trainyard-sweep-run-" + std::to_string(::getpid()));
  std::vector<std::string> observed_;
};

TEST_F(SweepRun, continues_after_a_failed_variant_and_keeps_the_reason) {
  const Sweep over = sweep(
      "echo 'starting'; echo "
      "'{\"type\":\"result\",\"status\":\"refused\",\"problems\":[{\"where\":\"run\",\"what\":\"no "
      "memory\"}]}'; exit 3");
  EXPECT_EQ(over.state, SweepState::failed);
  for (const SweepVariant& one : over.variants) {
    EXPECT_EQ(one.state, VariantState::failed);
    EXPECT_EQ(one.reason, "run: no memory");
  }
  EXPECT_THAT(observed_, ElementsAre("waiting waiting waiting ", "running waiting waiting ",
                                     "failed waiting waiting ", "failed running waiting ",
                                     "failed failed waiting ", "failed failed running ",
                                     "failed failed failed ", "failed failed failed "));
}

TEST_F(SweepRun, gives_each_run_a_directory_and_a_document) {
  const Sweep over = sweep("exit 1");
  EXPECT_EQ(over.variants[2].directory, "03_ring-on-4-ranks");
  const auto document =
      experiment::load(directory_ / over.variants[1].directory / "experiment.json");
  ASSERT_TRUE(document);
  EXPECT_EQ(*document, experiment::variant(four_ranks(), {2, collective::Algorithm::ring,
                                                          experiment::Scaling::weak, 50})
                           .value());
}

TEST_F(SweepRun, reports_how_a_program_without_a_result_ended) {
  EXPECT_THAT(sweep("kill -9 $$").variants[0].reason, testing::HasSubstr("signal 9 (Killed)"));
}

TEST_F(SweepRun, rejects_an_invalid_result) {
  const Sweep over = sweep("echo '{\"status\":\"completed\"' > \"$4/result.json\"");
  EXPECT_EQ(over.variants[0].state, VariantState::failed);
  EXPECT_NE(over.variants[0].reason, "");
}

TEST_F(SweepRun, reports_the_steps_of_a_stopped_run) {
  const Sweep over = sweep("echo '{\"status\":\"stopped\",\"steps\":12}' > \"$4/result.json\"");
  EXPECT_THAT(over.variants[0].reason, testing::HasSubstr("12 of 50 steps"));
}

TEST_F(SweepRun, forwards_an_interrupt_and_starts_no_further_run) {
  const Sweep over = sweep(
      "trap 'touch \"$4/signaled\"; exit 130' INT; touch \"$4/../interrupted\"; while true; do "
      "sleep "
      "0.02; done");
  EXPECT_EQ(over.state, SweepState::canceled);
  EXPECT_THAT(observed_.back(), "cancelled cancelled cancelled ");
  EXPECT_TRUE(fs::exists(directory_ / over.variants[0].directory / "signaled"));
  EXPECT_EQ(over.variants[1].directory, "");
}

TEST_F(SweepRun, reports_a_manifest_that_cannot_be_written) {
  fs::create_directories(directory_ / kSweepFile);
  SweepParts parts;
  parts.whole = four_ranks();
  parts.sweep = make_sweep(parts.whole, {}).value();
  parts.directory = directory_;
  parts.program = "/bin/true";
  EXPECT_FALSE(run_sweep(std::move(parts)));
}

// Steps 0 to 5 of two ranks: a short one at the end of an epoch, and one of which a report was
// lost.
TEST(FullSteps, are_those_with_most_samples_that_every_rank_reported_after_the_warm_up) {
  telemetry::History history;
  const std::string header = base::Json{{"schema", 1}, {"ranks", 2}}.dump();
  ASSERT_TRUE(history.take({telemetry::FrameType::header, -1, std::as_bytes(std::span(header))}));
  const auto report = [&](int rank, int step, telemetry::Metric metric, double value) {
    telemetry::Event event{};
    event.value = value;
    event.step = step;
    event.subject = static_cast<std::uint16_t>(metric);
    event.kind = telemetry::EventKind::metric;
    ASSERT_TRUE(
        history.take({telemetry::FrameType::events, rank, std::as_bytes(std::span(&event, 1))}));
  };
  for (int rank = 0; rank < 2; ++rank)
    for (int step = 0; step < 6; ++step) {
      report(rank, step, telemetry::Metric::samples, step == 3 ? 2 : 8);
      if (rank == 0 || step != 4)
        report(rank, step, telemetry::Metric::step_seconds, 0.1 * step + 0.01 * rank);
    }
  const FullSteps full = full_steps(history, 1);
  EXPECT_EQ(full.samples, 16);
  EXPECT_THAT(full.seconds,
              ElementsAre(testing::DoubleNear(0.11, 1e-12), testing::DoubleNear(0.21, 1e-12),
                          testing::DoubleNear(0.51, 1e-12)));
  EXPECT_TRUE(full_steps(history, 6).seconds.empty());
}

}  // namespace
}  // namespace trainyard::session
