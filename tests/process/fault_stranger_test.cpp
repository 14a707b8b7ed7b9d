// SPDX-License-Identifier: GPL-3.0-or-later
// What is said to the control socket of a run by those who have no business there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <zmq.hpp>

#include "run_program.h"

namespace trainyard::process {
namespace {

using testing::HasSubstr;

const std::string kFour = example("four_devices_mirrored_digits");

std::string endpoint_of(const RunProgram& run) {
  std::string endpoint = read(run.run_directory() / "control");
  while (!endpoint.empty() && endpoint.back() == '\n') endpoint.pop_back();
  return endpoint;
}

TEST(Strangers, garbage_on_the_control_socket_is_dropped_and_counted) {
  const Home home;
  RunProgram run(home, endless_run(kFour));
  ASSERT_TRUE(run.wait_for_step(5));
  ::zmq::context_t context;
  ::zmq::socket_t socket(context, ::zmq::socket_type::dealer);
  socket.set(::zmq::sockopt::linger, 5000);
  socket.connect(endpoint_of(run));
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string garbage(random() % 200, '\0');
    for (char& byte : garbage) byte = static_cast<char>(random());
    if (i % 7 == 0) garbage.clear();
    if (i % 3 == 0) socket.send(::zmq::buffer(garbage), ::zmq::send_flags::sndmore);
    socket.send(::zmq::buffer(garbage), ::zmq::send_flags::none);
  }
  ASSERT_TRUE(run.wait_for_step(400));
  run.signal(SIGINT);
  const Ran ran = run.wait();
  EXPECT_EQ(ran.exit_code, 130) << ran.err;
  EXPECT_EQ(ran.result()["ranks"][0]["parameters_xxh64"], ran.result()["ranks"][3]["parameters_xxh64"]);
  EXPECT_THAT(read(run.run_directory() / "run.log"), HasSubstr(" control messages were not ours or could not be read"));
}

TEST(Strangers, a_rank_that_was_not_started_by_the_coordinator_is_sent_away) {
  const Home home;
  RunProgram run(home, endless_run(kFour));
  ASSERT_TRUE(run.wait_for_step(5));
  // Asked to be a rank of this run, without its token.
  const Ran stranger = shell("echo guess | " TRAINYARD_BIN_DIR "/trainyard-rank --rank 1 --endpoint " + endpoint_of(run) + " --parent $$");
  EXPECT_EQ(stranger.exit_code, 4);
  EXPECT_THAT(stranger.err, HasSubstr("was not started by this coordinator"));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 130);
}

}  // namespace
}  // namespace trainyard::process
