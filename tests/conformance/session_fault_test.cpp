// SPDX-License-Identifier: GPL-3.0-or-later
// Faults in a run: it ends, and reports which rank failed and where.
#include <gmock/gmock.h>

#include "core/compute/ops.h"
#include "core/telemetry/recording.h"
#include "tests/conformance/faulty_transport.h"
#include "tests/conformance/session_run.h"
#include "tests/conformance/session_viewer.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using base::IsProblem;
using base::ProblemCode;
using base::Reports;
using session::Message;
using session::RunState;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Passes messages on as a test wishes: it may change them, or hold them back.
class Tampering final : public session::ControlClient {
 public:
  using Change = std::function<bool(Message&)>;  // false: not sent
  Tampering(std::unique_ptr<session::ControlClient> inner, Change change)
      : inner_(std::move(inner)), change_(std::move(change)) {}
  base::Result<std::optional<Message>> receive(std::chrono::milliseconds limit) override {
    return inner_->receive(limit);
  }
  base::Result<void> send(const Message& message) override {
    Message changed = message;
    return change_(changed) ? inner_->send(changed) : base::Result<void>{};
  }

 private:
  std::unique_ptr<session::ControlClient> inner_;
  Change change_;
};

SessionPieces tampered(int culprit, Tampering::Change change) {
  SessionPieces pieces;
  pieces.connect = [culprit, change](int rank, session::Connect connect) -> session::Connect {
    if (rank != culprit) return connect;
    return
        [connect, change](
            const std::string& endpoint) -> base::Result<std::unique_ptr<session::ControlClient>> {
          return std::make_unique<Tampering>(connect(endpoint).value(), change);
        };
  };
  return pieces;
}

// A device one of whose kernels fails to return until its rank is killed.
class Hanging final : public compute::Compute {
 public:
  Hanging(std::unique_ptr<compute::Compute> inner, SessionPieces::Killed killed)
      : inner_(std::move(inner)), killed_(std::move(killed)) {}
  std::string name() const override { return "hanging"; }
  std::unique_ptr<compute::Queue> make_queue() override { return inner_->make_queue(); }
  base::Result<std::unique_ptr<compute::Kernel>> prepare(const compute::Op& op) override {
    auto kernel = inner_->prepare(op);
    if (!kernel || !std::holds_alternative<compute::SgdUpdate>(op)) return kernel;
    return std::make_unique<Stuck>(std::move(*kernel), killed_);
  }
  void sum(base::DType dtype, std::byte* destination, std::span<const std::byte* const> sources,
           std::int64_t elements) override {
    inner_->sum(dtype, destination, sources, elements);
  }
  void copy(std::byte* destination, const std::byte* source, std::int64_t bytes) override {
    inner_->copy(destination, source, bytes);
  }
  void load(const compute::Tensor& destination, std::span<const float> source) override {
    inner_->load(destination, source);
  }

 private:
  class Stuck final : public compute::Kernel {
   public:
    Stuck(std::unique_ptr<compute::Kernel> inner, SessionPieces::Killed killed)
        : inner_(std::move(inner)), killed_(std::move(killed)) {}
    void enqueue(compute::Queue& queue) override {
      inner_->enqueue(queue);
      while (++calls_ > 5 && !*killed_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }

   private:
    std::unique_ptr<compute::Kernel> inner_;
    SessionPieces::Killed killed_;
    int calls_ = 0;
  };

  std::unique_ptr<compute::Compute> inner_;
  SessionPieces::Killed killed_;
};

base::Problem problem_of(const session::CoordinatorResult& outcome) {
  EXPECT_EQ(outcome.state, RunState::failed);
  EXPECT_EQ(outcome.result["status"], "failed");
  EXPECT_TRUE(outcome.problem);
  return outcome.problem.value_or(base::Problem{});
}

TEST(SessionFaults, another_version_is_refused_with_a_table_of_all_values) {
  SessionRun run(session_experiment(3, kEndless), tampered(1, [](Message& message) {
                   if (auto* hello = std::get_if<session::Hello>(&message))
                     hello->software = "0.0.7-other";
                   return true;
                 }));
  const base::Problem problem = problem_of(run.result());
  EXPECT_EQ(problem.code, ProblemCode::refused);
  EXPECT_THAT(
      problem,
      AllOf(IsProblem("ranks_differ", "software"), Reports("coordinator " TRAINYARD_VERSION),
            Reports("rank 1 (alpha/cpu1) 0.0.7-other"), Reports("rank 2 (alpha/cpu2)")));
}

TEST(SessionFaults, table_of_values_is_complete) {
  SessionRun run(session_experiment(3, kEndless), tampered(1, [](Message& message) {
                   if (auto* hello = std::get_if<session::Hello>(&message))
                     hello->software = "0.0.7-other";
                   return true;
                 }));
  const base::Problem problem = problem_of(run.result());
  for (const char* rank : {"rank 0 (alpha/cpu0) ", "rank 2 (alpha/cpu2) "})
    EXPECT_THAT(problem, AllOf(IsProblem("ranks_differ", "software"),
                               Reports(rank + std::string(TRAINYARD_VERSION))));
}

TEST(SessionFaults, events_dropped_by_a_rank_are_recorded) {
  SessionRun run(session_experiment(2, 20), tampered(1, [](Message& message) {
                   if (auto* events = std::get_if<session::Events>(&message)) events->dropped = 7;
                   return true;
                 }));
  EXPECT_EQ(run.result().state, RunState::finished);
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  const auto* dropped = history->find({telemetry::Metric::dropped_events, 1, 0});
  ASSERT_NE(dropped, nullptr);
  EXPECT_EQ(dropped->values, std::vector<double>{7}) << "reported once, not with every batch";
  EXPECT_EQ(history->find({telemetry::Metric::dropped_events, 0, 0}), nullptr);
}

TEST(SessionFaults, unreadable_values_are_not_recorded_and_do_not_end_the_run) {
  SessionRun run(session_experiment(2, 20), tampered(1, [](Message& message) {
                   if (auto* samples = std::get_if<session::Samples>(&message))
                     samples->values.resize(samples->values.size() - 1);
                   return true;
                 }));
  EXPECT_EQ(run.result().state, RunState::finished);
  const auto history = telemetry::History::load(run.directory());
  ASSERT_TRUE(history);
  EXPECT_EQ(history->damage(), "");
  EXPECT_FALSE(history->chunk_values().empty());
  for (const auto& [key, values] : history->chunk_values()) EXPECT_EQ(key.rank, 0);
}

TEST(SessionFaults, another_plan_is_refused_with_a_table_of_all_values) {
  SessionRun run(session_experiment(3, kEndless), tampered(2, [](Message& message) {
                   if (auto* planned = std::get_if<session::Planned>(&message))
                     planned->plan_hash = "0123456789abcdef";
                   return true;
                 }));
  const base::Problem problem = problem_of(run.result());
  EXPECT_EQ(problem.code, ProblemCode::refused);
  EXPECT_THAT(problem, AllOf(IsProblem("ranks_differ", "plan"),
                             Reports("rank 2 (alpha/cpu2) 0123456789abcdef")));
}

TEST(SessionFaults, unknown_client_changes_nothing) {
  SessionRun run(session_experiment(2, kEndless));
  Viewer viewer(run.client());
  const auto stranger = run.client();
  for (int round = 0; round < 20; ++round) {
    for (const std::int32_t rank : {-1, 0, 1, 2, 2'000'000'000}) {
      for (const Message& message :
           {Message(session::Hello{rank, "guess", "0.0.7-other", 1}),
            Message(session::Planned{rank, "x", "y"}),
            Message(session::Progress{rank, kEndless, 99, "", 1}),
            Message(session::Failed{
                rank, 3, "", {"made_by_test", ProblemCode::failed, "stranger", "lies", "", ""}}),
            Message(session::Finished{rank, 7, "feed", 1, 1, {}}),
            Message(session::Log{rank, 0, "info", "lies"}),
            Message(session::Events{rank, 0, std::vector<telemetry::Event>(3)}),
            Message(session::Samples{rank, "lies"})})
        ASSERT_TRUE(stranger->send(message));
    }
    viewer.ask();
  }
  EXPECT_LT(viewer.wait_for_step(5).step, kEndless / 2);
  viewer.ask(session::Command::stop);
  const auto outcome = run.result();
  EXPECT_EQ(outcome.state, RunState::stopped) << outcome.result.dump();
  EXPECT_NE(outcome.result["ranks"][0]["parameters_xxh64"], "feed");
}

TEST(SessionFaults, failing_rank_ends_the_run_and_is_named) {
  // A rank that cannot have its device says so in its own words.
  SessionRun run(session_experiment(3, kEndless), tampered(1, [](Message& message) {
                   if (auto* planned = std::get_if<session::Planned>(&message))
                     message = session::Failed{planned->rank,
                                               0,
                                               "",
                                               {"made_by_test", ProblemCode::unavailable, "rank 1",
                                                "has no such device", "", ""}};
                   return true;
                 }));
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem, IsProblem("made_by_test", "rank 1"));
}

TEST(SessionFaults, rank_that_exits_without_a_result_is_named) {
  SessionRun run(session_experiment(2, 20), tampered(1, [](Message& message) {
                   return !std::holds_alternative<session::Finished>(message);
                 }));
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem, IsProblem("rank_died", "rank 1 (alpha/cpu1)"));
}

TEST(SessionFaults, different_weights_of_ranks_fail_the_run) {
  SessionRun run(session_experiment(3, 20), tampered(2, [](Message& message) {
                   if (auto* finished = std::get_if<session::Finished>(&message))
                     finished->parameters_xxh64 = "0123456789abcdef";
                   return true;
                 }));
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem, AllOf(IsProblem("weights_differ", "final weights"),
                             Reports("rank 2 (alpha/cpu2) 0123456789abcdef")));
}

TEST(SessionFaults, kernel_that_hangs_is_reported_with_its_rank) {
  SessionPieces pieces;
  pieces.compute = [](int rank, std::unique_ptr<compute::Compute> plain,
                      SessionPieces::Killed killed) -> std::unique_ptr<compute::Compute> {
    if (rank != 2) return plain;
    return std::make_unique<Hanging>(std::move(plain), std::move(killed));
  };
  experiment::Experiment e = session_experiment(3, kEndless);
  e.run.hang_seconds = 2;
  SessionRun run(e, std::move(pieces));
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem, AllOf(IsProblem("run_hung", "rank 2 (alpha/cpu2)"), Reports("op UPD")));
}

TEST(SessionFaults, rank_without_memory_is_reported) {
  SessionPieces pieces;
  pieces.compute = [](int rank, std::unique_ptr<compute::Compute> plain,
                      const SessionPieces::Killed&) {
    if (rank == 1) throw std::bad_alloc();
    return plain;
  };
  SessionRun run(session_experiment(3, kEndless), std::move(pieces));
  const base::Problem problem = problem_of(run.result());
  EXPECT_EQ(problem.code, ProblemCode::unavailable);
  EXPECT_THAT(problem, IsProblem("out_of_memory", HasSubstr("rank 1")));
}

TEST(SessionFaults, rank_without_heartbeats_is_named) {
  SessionRun run(
      session_experiment(2, kEndless),
      tampered(
          1, [](Message& message) { return !std::holds_alternative<session::Progress>(message); }),
      3);
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem, IsProblem("rank_unresponsive", "rank 1 (alpha/cpu1)"));
}

// One message of one rank is dropped, repeated or shortened; the run must notice, whichever
// algorithm moves it.
class WrongChunk : public testing::TestWithParam<std::tuple<Fault, collective::Algorithm>> {};

TEST_P(WrongChunk, fails_the_run) {
  const auto [fault, algorithm] = GetParam();
  SessionPieces pieces;
  pieces.transport = [fault = fault](
                         int rank,
                         std::unique_ptr<comm::Transport> end) -> std::unique_ptr<comm::Transport> {
    if (rank != 1) return end;
    return std::make_unique<FaultyTransport>(std::move(end), fault, 57);
  };
  experiment::Experiment e = session_experiment(3, kEndless);
  e.strategy.algorithm = algorithm;
  e.run.hang_seconds = 2;
  SessionRun run(e, std::move(pieces));
  const base::Problem problem = problem_of(run.result());
  EXPECT_THAT(problem.where, HasSubstr("rank "));
  EXPECT_THAT(problem.where + problem.what, HasSubstr("op ")) << base::to_string(problem);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongChunk,
    testing::Combine(testing::Values(Fault::drop, Fault::repeat, Fault::shorten),
                     testing::Values(collective::Algorithm::ring, collective::Algorithm::direct)));

TEST(SessionFaults, run_without_a_writable_recording_does_not_start) {
  experiment::Experiment e = session_experiment(1, 5);
  session::CoordinatorParts parts;
  parts.given = e;
  parts.resolved = experiment::resolve(e, ".").value();
  parts.run_directory = "/proc/trainyard";
  inproc::ControlHub hub;
  const auto server = hub.server();
  parts.server = server.get();
  const auto outcome = session::coordinate(std::move(parts));
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error(), IsProblem("missing_file", HasSubstr("/proc/trainyard")));
}

}  // namespace
}  // namespace trainyard::conformance
