// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of foreign processes to the sockets of a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <zmq.hpp>

#include "backends/zmq/transport_frame.h"
#include "core/base/json.h"
#include "core/comm/problem_bytes.h"
#include "examples.h"
#include "run_program.h"
#include "tests/backends/zmq/control_frames.h"
#include "tests/conformance/session_viewer.h"

namespace trainyard::process {
namespace {

using base::Json;
using conformance::Viewer;
using session::Command;
using session::Message;
using testing::HasSubstr;

// A connection that sends what it likes.
class Stranger {
 public:
  Stranger(const std::string& endpoint, ::zmq::socket_type type) : socket_(context_, type) {
    socket_.set(::zmq::sockopt::linger, 5000);
    socket_.connect(endpoint);
  }
  void send(const std::vector<std::string>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      socket_.send(::zmq::buffer(parts[i]),
                   i + 1 < parts.size() ? ::zmq::send_flags::sndmore : ::zmq::send_flags::none);
  }

 private:
  ::zmq::context_t context_;
  ::zmq::socket_t socket_;
};

std::string frame_of(const Message& message, std::uint64_t sequence) {
  return zmq::encode_message({0, 0, sequence}, message).value();
}

// The run continues with all ranks agreeing, and ends on request.
void expect_unharmed(RunProgram& run, std::int64_t step) {
  ASSERT_TRUE(run.wait_for_step(step));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  expect_all_end_alike(ran.result());
}

TEST(UnknownClients, that_send_garbage_to_the_control_socket_are_ignored_and_counted) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  Stranger stranger(run.endpoint(), ::zmq::socket_type::dealer);
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::string garbage =
        i % 2 == 0 ? zmq::random_bytes(200, random)
                   : zmq::mutated(frame_of(session::Ask{1, Command::ask, 0}, 1), random);
    stranger.send(i % 3 == 0 ? std::vector{garbage, garbage} : std::vector{garbage});
  }
  Viewer(run.client()).wait_for_step(20);
  expect_unharmed(run, 20);
  EXPECT_THAT(read(run.run_directory() / "run.log"),
              testing::ContainsRegex("[0-9]+ control messages "));
}

TEST(UnknownClients, that_send_a_message_over_the_limit_lose_the_connection) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  Stranger stranger(run.endpoint(), ::zmq::socket_type::dealer);
  for (int i = 0; i < 3; ++i) stranger.send({std::string(zmq::kMaxControlBytes + 1, 'x')});
  Viewer viewer(run.client());
  viewer.wait_for_step(viewer.ask().step + 20);
  expect_unharmed(run, 20);
}

TEST(UnknownClients, that_replay_a_command_are_ignored) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  Viewer viewer(run.client());
  viewer.ask(Command::pause);
  const std::int64_t at = viewer.wait_for(session::RunState::paused).step;
  Stranger recorded(run.endpoint(), ::zmq::socket_type::dealer);
  for (int i = 0; i < 10; ++i)
    recorded.send({frame_of(session::Ask{1, Command::single_step, 0}, 1)});
  viewer.wait_until([&](const session::Status& s) {
    return s.state == session::RunState::paused && s.step > at;
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(viewer.ask().horizon, at + 1);
  viewer.ask(Command::resume);
  expect_unharmed(run, at + 20);
}

TEST(UnknownClients, that_impersonate_a_rank_from_another_connection_are_ignored) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  Stranger stranger(run.endpoint(), ::zmq::socket_type::dealer);
  std::uint64_t sequence = 0;
  for (const Message& message :
       {Message(session::Failed{
            1, 3, "", {"made_by_test", base::ProblemCode::failed, "rank 1", "lies", "", ""}}),
        Message(session::Finished{1, 7, "feed", 1, 1, {}}),
        Message(session::Progress{1, 1'000'000, 99, "", -1}),
        Message(session::Hello{1, "guess", "0.1.0", 1})})
    stranger.send({frame_of(message, ++sequence)});
  Viewer viewer(run.client());
  EXPECT_LT(viewer.wait_for_step(viewer.ask().step + 20).step, 1'000'000);
  expect_unharmed(run, 20);
}

// An abort of another run, that a peer at the same address would have to believe.
std::vector<std::string> foreign_abort(std::uint64_t run_key) {
  const std::string payload = [] {
    const auto bytes = comm::to_bytes(
        {"made_by_test", base::ProblemCode::failed, "rank 0", "of another run", "", ""});
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }();
  zmq::FrameHeader header;
  header.kind = zmq::FrameKind::abort;
  header.run_key = run_key;
  header.generation = 1;
  header.from = 0;
  header.to = 1;
  header.payload_bytes = payload.size();
  const auto head = zmq::encode(header);
  return {std::string(reinterpret_cast<const char*>(head.data()), head.size()), payload};
}

TEST(UnknownClients, that_send_data_frames_of_another_run_are_ignored) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored, {"run.transport=zmq"}));
  ASSERT_TRUE(run.wait_for_step(5));
  const std::string control = run.endpoint();
  Stranger stranger(control.substr(0, control.rfind('/')) + "/data-1", ::zmq::socket_type::push);
  for (const std::uint64_t key : {0ULL, 1ULL, ~0ULL, 0x0123456789abcdefULL})
    stranger.send(foreign_abort(key));
  Viewer viewer(run.client());
  viewer.wait_for_step(viewer.ask().step + 50);
  expect_unharmed(run, 20);
}

TEST(UnknownClients, that_claim_to_be_a_rank_without_its_token_are_refused) {
  const Home home;
  RunProgram run(home, endless_run(kMirrored));
  ASSERT_TRUE(run.wait_for_step(5));
  // Asked to be a rank of this run, without its token.
  const Ran stranger =
      shell("echo guess | " TRAINYARD_BIN_DIR "/trainyard-rank --rank 1 --endpoint " +
            run.endpoint() + " --parent $$");
  EXPECT_EQ(stranger.exit_code, 4);
  EXPECT_THAT(stranger.err, HasSubstr("rank 1: "));
  expect_unharmed(run, 20);
}

TEST(UnknownClients, started_as_a_rank_by_hand_print_an_error) {
  const Ran bare = shell("exec " TRAINYARD_BIN_DIR "/trainyard-rank");
  EXPECT_NE(bare.exit_code, 0);
  EXPECT_THAT(bare.err, HasSubstr("--rank"));
  const Ran orphan = shell("exec " TRAINYARD_BIN_DIR
                           "/trainyard-rank --rank 0 --endpoint ipc:///tmp/none --parent 1");
  EXPECT_EQ(orphan.exit_code, 2);
  EXPECT_THAT(orphan.err, HasSubstr("trainyard-cli run"));
  const Ran endpoint = shell("exec " TRAINYARD_BIN_DIR
                             "/trainyard-rank --rank 0 --endpoint nonsense --parent $PPID");
  EXPECT_EQ(endpoint.exit_code, 2);
  EXPECT_THAT(endpoint.err, HasSubstr("nonsense"));
}

}  // namespace
}  // namespace trainyard::process
