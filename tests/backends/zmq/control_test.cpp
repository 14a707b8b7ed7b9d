// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/control.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>

#include "tests/backends/zmq/control_directory.h"
#include "tests/conformance/control_conformance.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

namespace fs = std::filesystem;
using base::ProblemCode;
using testing::HasSubstr;

ControlPlace place_at(const std::string& endpoint,
                      const std::shared_ptr<zmq::SocketDirectory>& directory = nullptr) {
  return {[=] {
            static_cast<void>(directory);  // kept as long as the place
            return zmq::serve(endpoint, {"a run", 1});
          },
          [=] { return zmq::connect(endpoint); }};
}

ControlBackend over_ipc() {
  return {"zmq_ipc", [] {
            const auto directory = std::make_shared<zmq::SocketDirectory>();
            return place_at(directory->endpoint(), directory);
          }};
}

// A port that was free a moment ago.
ControlBackend over_tcp() {
  return {"zmq_tcp", [] {
            return place_at(must(zmq::serve("tcp://127.0.0.1:*", {"", 0}))->endpoint());
          }};
}

INSTANTIATE_TEST_SUITE_P(zmq, ControlConformance, testing::Values(over_ipc(), over_tcp()),
                         name_of_backend);

// Leaves the socket file of a killed server.
void leave_dead_socket(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
}

base::Problem refusal(const std::string& endpoint) {
  const auto server = zmq::serve(endpoint, {"a run", 1});
  return server ? base::Problem{} : server.error();
}

class ControlEndpoint : public testing::Test {
 protected:
  void expect_that_it_works() {
    const auto server = must(zmq::serve(directory_.endpoint(), {"a run", 1}));
    const auto client = must(zmq::connect(server->endpoint()));
    must(client->send(step(3)));
    EXPECT_EQ(step_of(must(server->receive(patience)).value().message), 3);
  }
  fs::path path() const { return directory_.path() / "control"; }

  zmq::SocketDirectory directory_;
};

TEST_F(ControlEndpoint, path_of_a_running_server_is_refused) {
  const auto server = must(zmq::serve(directory_.endpoint(), {"a run", 1}));
  EXPECT_EQ(refusal(directory_.endpoint()).code, ProblemCode::unavailable);
  EXPECT_EQ(refusal(directory_.endpoint()).id, "endpoint_in_use");
  const auto client = must(zmq::connect(directory_.endpoint()));
  must(client->send(step(3)));
  EXPECT_EQ(step_of(must(server->receive(patience)).value().message), 3);
}

TEST_F(ControlEndpoint, socket_of_a_dead_server_is_replaced) {
  leave_dead_socket(path());
  ASSERT_TRUE(fs::exists(path()));
  expect_that_it_works();
}

TEST_F(ControlEndpoint, socket_is_removed_when_the_server_ends) {
  expect_that_it_works();
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(ControlEndpoint, existing_file_is_kept) {
  std::ofstream(path()) << "precious";
  EXPECT_EQ(refusal(directory_.endpoint()).code, ProblemCode::unavailable);
  EXPECT_EQ(fs::file_size(path()), 8U);
}

TEST_F(ControlEndpoint, directory_accessible_to_others_is_refused) {
  for (const fs::perms others :
       {fs::perms::others_exec, fs::perms::group_read, fs::perms::others_write}) {
    fs::permissions(directory_.path(), fs::perms::owner_all | others);
    EXPECT_EQ(refusal(directory_.endpoint()).code, ProblemCode::refused);
  }
  fs::permissions(directory_.path(), fs::perms::owner_all);
  expect_that_it_works();
}

TEST_F(ControlEndpoint, missing_directory_is_named) {
  EXPECT_THAT(refusal("ipc:///nowhere/at/all/control"),
              base::IsProblem(testing::_, testing::HasSubstr("/nowhere/at/all")));
}

TEST_F(ControlEndpoint, path_of_107_bytes_is_accepted_and_one_of_108_is_refused) {
  const std::string stem = directory_.path().string() + "/";
  const std::string longest = "ipc://" + stem + std::string(107 - stem.size(), 'x');
  EXPECT_EQ(refusal(longest), base::Problem{});
  EXPECT_EQ(refusal(longest + "x").id, "path_too_long");
  EXPECT_FALSE(zmq::connect(longest + "x"));
}

TEST_F(ControlEndpoint, port_in_use_is_reported) {
  const auto server = must(zmq::serve("tcp://127.0.0.1:*", {"a run", 1}));
  EXPECT_EQ(refusal(server->endpoint()).code, ProblemCode::unavailable);
  EXPECT_EQ(refusal(server->endpoint()).id, "control_connection_failed");
  EXPECT_EQ(refusal(server->endpoint()).where, server->endpoint());
}

TEST_F(ControlEndpoint, accepts_only_addresses_of_this_machine) {
  for (const char* wide :
       {"tcp://*:5555", "tcp://0.0.0.0:5555", "tcp://192.168.1.1:5555",
        "tcp://127.evil.example:5555", "tcp://localhost:5555", "tcp://", "tcp://[::]:5555"})
    EXPECT_EQ(refusal(wide).code, ProblemCode::refused) << wide;
  for (const char* odd : {"", "ipc://", "ipc://@abstract", "ipc://*", "inproc://x",
                          "pgm://127.0.0.1:1", "udp://127.0.0.1:1", "/tmp/x"}) {
    EXPECT_EQ(refusal(odd).code, ProblemCode::bad_input) << odd;
    EXPECT_FALSE(zmq::connect(odd)) << odd;
  }
  for (const char* port : {"", "0", "99999", "-1", "80x", "*"})
    EXPECT_FALSE(zmq::connect(std::string("tcp://127.0.0.1:") + port)) << port;
  EXPECT_EQ(refusal("tcp://127.0.0.1:99999").code, ProblemCode::bad_input);
}

TEST_F(ControlEndpoint, client_reconnects_to_a_restarted_server) {
  const auto client = must(zmq::connect(directory_.endpoint()));
  for (int life = 0; life < 2; ++life) {
    const auto server = must(zmq::serve(directory_.endpoint(), {"a run", 1}));
    must(client->send(step(life)));
    const session::Received received = must(server->receive(patience)).value();
    EXPECT_EQ(step_of(received.message), life);
    server->send(received.from, step(10 + life));
    EXPECT_EQ(step_of(must(client->receive(patience)).value()), 10 + life);
  }
}

TEST_F(ControlEndpoint, client_ignores_the_server_of_another_run) {
  const auto client = must(zmq::connect(directory_.endpoint()));
  for (const char* run : {"first", "second"}) {
    const auto server = must(zmq::serve(directory_.endpoint(), {run, 1}));
    const auto stranger = must(zmq::connect(directory_.endpoint()));
    must(client->send(step(1)));
    must(stranger->send(step(1)));
    for (int i = 0; i < (std::string(run) == "first" ? 2 : 1); ++i) {
      const session::Received received = must(server->receive(patience)).value();
      server->send(received.from, step(2));
    }
    EXPECT_TRUE(must(stranger->receive(patience)).has_value());
    EXPECT_EQ(must(client->receive(milliseconds(50))).has_value(), std::string(run) == "first");
  }
}

// Ctrl-C must not have to wait for a message.
TEST_F(ControlEndpoint, signal_ends_receive_early) {
  struct sigaction action {
  }, old{};
  action.sa_handler = [](int) {};
  ::sigaction(SIGUSR1, &action, &old);
  const auto server = must(zmq::serve(directory_.endpoint(), {"a run", 1}));
  std::atomic<bool> done{false};
  std::thread bell([&done, receiver = ::pthread_self()] {
    while (!done) {
      ::pthread_kill(receiver, SIGUSR1);
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  const milliseconds limit(60'000);
  const std::int64_t start = base::now_nanoseconds();
  EXPECT_FALSE(must(server->receive(limit)).has_value());
  EXPECT_LT(std::chrono::nanoseconds(base::now_nanoseconds() - start), limit);
  done = true;
  bell.join();
  ::sigaction(SIGUSR1, &old, nullptr);
}

// The end of a rank must not have to wait for a message.
TEST_F(ControlEndpoint, readable_descriptor_ends_receive_early) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto server = must(zmq::serve(directory_.endpoint(), {"a run", 1}));
  server->wake_on(-1);
  server->wake_on(ends[0]);
  EXPECT_FALSE(must(server->receive(milliseconds(10))).has_value());
  ASSERT_EQ(::write(ends[1], "x", 1), 1);
  const milliseconds limit(60'000);
  const std::int64_t start = base::now_nanoseconds();
  EXPECT_FALSE(must(server->receive(limit)).has_value());
  EXPECT_LT(std::chrono::nanoseconds(base::now_nanoseconds() - start), limit);
  const auto client = must(zmq::connect(server->endpoint()));
  must(client->send(step(3)));  // messages still arrive while the descriptor is readable
  std::optional<session::Received> received;
  for (int i = 0; i < 1000 && !received; ++i) {
    received = must(server->receive(patience));
    if (!received) std::this_thread::sleep_for(milliseconds(10));
  }
  ASSERT_TRUE(received);
  EXPECT_EQ(step_of(received->message), 3);
  for (const int end : ends) ::close(end);
}

}  // namespace
}  // namespace trainyard::conformance
