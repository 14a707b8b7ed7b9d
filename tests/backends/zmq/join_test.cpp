// SPDX-License-Identifier: GPL-3.0-or-later
// The listener and machines that join it, in one process.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <zmq.hpp>

#include "backends/zmq/curve.h"
#include "backends/zmq/join_connection.h"
#include "backends/zmq/join_keys.h"
#include "backends/zmq/join_listener.h"
#include "backends/zmq/listener_port.h"
#include "core/base/clock.h"
#include "core/session/hosts/listener_messages.h"
#include "tests/problem_matchers.h"

namespace trainyard::zmq {
namespace {

using base::IsProblem;
using base::Reports;
using session::Invitation;
using session::JoinFrame;
using session::JoinFrameKind;

constexpr std::int64_t kLimit = 10'000'000'000;

class Joining : public testing::Test {
 protected:
  Joining() {
    std::string pattern = "/tmp/trainyard-join-test-XXXXXX";
    runtime_ = ::mkdtemp(pattern.data());
    ::setenv("XDG_RUNTIME_DIR", runtime_.c_str(), 1);
    thread_ = std::thread([this] {
      const auto served = run_listener({.address = "127.0.0.1",
                                        .port = 0,
                                        .name = "alpha",
                                        .directory = session::listener_directory().value(),
                                        .is_canceled = [this] { return canceled_.load(); }});
      EXPECT_TRUE(served) << base::to_string(served.error());
    });
    const std::int64_t end = base::now_nanoseconds() + kLimit;
    while (!session::ask_listener(session::ListJoined{}) && base::now_nanoseconds() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ~Joining() override {
    canceled_ = true;
    thread_.join();
    ::unsetenv("XDG_RUNTIME_DIR");
    std::filesystem::remove_all(runtime_);
  }

  static Invitation invite(int machines = 1, double seconds = 100) {
    const auto answer = session::ask_listener(session::InviteMachines{machines, seconds});
    EXPECT_TRUE(answer) << base::to_string(answer.error());
    return session::invitation_from(std::get<session::Invited>(*answer).invitation).value();
  }
  static session::ListenerState state() {
    return std::get<session::ListenerState>(*session::ask_listener(session::ListJoined{}));
  }
  static base::Result<Joined> try_join(const Invitation& invitation) {
    const auto key = fetch_listener_key(invitation);
    if (!key) return base::fail(key.error());
    session::JoinRequest request;
    request.name = "node";
    request.cores = 3;
    request.seconds = 60;
    return join(invitation, *key, request);
  }
  static Joined joined(const Invitation& invitation) {
    auto result = try_join(invitation);
    EXPECT_TRUE(result) << base::to_string(result.error());
    result->connection->send({JoinFrameKind::ping});
    EXPECT_EQ(next(*result->connection).kind, JoinFrameKind::ping);
    return std::move(*result);
  }
  static JoinFrame next(JoinConnection& connection) {
    const std::int64_t end = base::now_nanoseconds() + kLimit;
    while (base::now_nanoseconds() < end) {
      if (auto frame = connection.receive()) return std::move(*frame);
      if (!connection.wait({}, std::chrono::milliseconds(20))) break;
    }
    ADD_FAILURE() << "no frame";
    return {};
  }
  static std::string read_exactly(int socket, std::size_t count) {
    std::string bytes(count, '\0');
    EXPECT_EQ(::recv(socket, bytes.data(), count, MSG_WAITALL), static_cast<ssize_t>(count));
    return bytes;
  }
  // A connection to the listener's port that knows no protocol.
  static base::Descriptor stranger(int port) {
    base::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return socket;
  }

  std::string runtime_;
  std::atomic<bool> canceled_{false};
  std::thread thread_;
};

TEST_F(Joining, machine_serves_sessions_of_coordinators) {
  const Invitation invitation = invite();
  const Joined machine = joined(invitation);
  EXPECT_EQ(machine.name, "node");
  EXPECT_EQ(machine.listener, "alpha");
  const auto coordinator = session::open_joined("node");
  ASSERT_TRUE(coordinator) << base::to_string(coordinator.error());
  const JoinFrame open = next(*machine.connection);
  ASSERT_EQ(open.kind, JoinFrameKind::open);
  ASSERT_EQ(::send(coordinator->get(), "hello", 5, 0), 5);
  const JoinFrame data = next(*machine.connection);
  EXPECT_EQ(data.kind, JoinFrameKind::data);
  EXPECT_EQ(data.session, open.session);
  EXPECT_EQ(data.bytes, "hello");
  machine.connection->send({JoinFrameKind::data, open.session, 0, "answer"});
  EXPECT_EQ(read_exactly(coordinator->get(), 6), "answer");
  const session::ListenerState now = state();
  ASSERT_EQ(now.machines.size(), 1U);
  EXPECT_EQ(now.machines[0].address, "127.0.0.1") << "the remote address, not the passed one";
  EXPECT_EQ(now.machines[0].cores, 3);
  EXPECT_EQ(now.machines[0].sessions, 1);
  EXPECT_TRUE(now.invitations.empty()) << "it admitted its one machine";
  machine.connection->send({JoinFrameKind::close, open.session});
  char byte = 0;
  EXPECT_EQ(::recv(coordinator->get(), &byte, 1, 0), 0) << "the session ended";
}

TEST_F(Joining, machine_that_leaves_or_is_removed_is_gone) {
  const Invitation invitation = invite(2);
  const Joined first = joined(invitation), second = joined(invitation);
  EXPECT_EQ(second.name, "node-2");
  first.connection->send({JoinFrameKind::close});
  const std::int64_t end = base::now_nanoseconds() + kLimit;
  while (state().machines.size() != 1 && base::now_nanoseconds() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(state().machines.size(), 1U);
  EXPECT_TRUE(session::ask_listener(session::RemoveJoined{"node-2"}));
  const JoinFrame last = next(*second.connection);
  EXPECT_EQ(last.kind, JoinFrameKind::close);
  EXPECT_EQ(last.session, 0U);
  EXPECT_TRUE(state().machines.empty());
  const auto open = session::open_joined("node-2");
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().id, "machine_not_joined");
}

TEST_F(Joining, invitation_that_was_used_or_withdrawn_admits_no_machine) {
  const Invitation used = invite(1), withdrawn = invite(1);
  const Joined machine = joined(used);
  EXPECT_EQ(try_join(used).error().id, "invitation_refused");
  ASSERT_TRUE(session::ask_listener(session::WithdrawInvitation{session::to_text(withdrawn.code)}));
  EXPECT_EQ(try_join(withdrawn).error().id, "invitation_refused");
}

TEST_F(Joining, five_wrong_codes_block_the_address_for_a_minute) {
  const Invitation right = invite(2);
  const Joined machine = joined(right);
  Invitation wrong = right;
  for (std::uint8_t i = 0; i < 5; ++i) {
    wrong.code.token = {1, 2, 3, 4, i};
    EXPECT_EQ(try_join(wrong).error().id, "invitation_refused");
  }
  EXPECT_EQ(try_join(right).error().id, "invitation_refused");
  machine.connection->send({JoinFrameKind::ping});
  EXPECT_EQ(next(*machine.connection).kind, JoinFrameKind::ping) << "joined machines stay";
}

TEST_F(Joining, listener_with_another_key_is_refused) {
  Invitation invitation = invite();
  invitation.code.fingerprint[0] ^= 1;
  const auto result = try_join(invitation);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().id, "listener_differs");
}

TEST_F(Joining, machine_uses_only_its_own_sessions) {
  const Invitation invitation = invite(2);
  const Joined first = joined(invitation), second = joined(invitation);
  const auto coordinator = session::open_joined("node");
  ASSERT_TRUE(coordinator);
  const std::uint32_t session = next(*first.connection).session;
  second.connection->send({JoinFrameKind::data, session, 0, "foreign"});
  EXPECT_EQ(next(*second.connection).kind, JoinFrameKind::close);
  first.connection->send({JoinFrameKind::data, session, 0, "own"});
  EXPECT_EQ(read_exactly(coordinator->get(), 3), "own");
}

TEST_F(Joining, strangers_get_the_public_key_and_nothing_else) {
  const Invitation invitation = invite();
  {
    const base::Descriptor socket = stranger(invitation.port);
    ASSERT_EQ(::send(socket.get(), "TYKEY\n", 6, 0), 6);
    std::string answer(256, '\0');
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), MSG_WAITALL);
    EXPECT_EQ(got, 7 + 40 + 1);
  }
  for (const char* text : {"GET / HTTP/1.1\r\n\r\n", "TYKEX\n", "\n"}) {
    const base::Descriptor socket = stranger(invitation.port);
    ASSERT_GT(::send(socket.get(), text, std::strlen(text), 0), 0);
    char byte = 0;
    EXPECT_LE(::recv(socket.get(), &byte, 1, 0), 0) << text;
  }
  // ZeroMQ without encryption, and with a key that is not admitted
  ::zmq::context_t context;
  const auto keys = make_curve_keys();
  const auto server = fetch_listener_key(invitation);
  for (const bool encrypted : {false, true}) {
    ::zmq::socket_t socket(context, ::zmq::socket_type::dealer);
    socket.set(::zmq::sockopt::linger, 0);
    socket.set(::zmq::sockopt::rcvtimeo, 300);
    if (encrypted) protect_client(socket, *keys, server->public_key);
    socket.connect("tcp://127.0.0.1:" + std::to_string(invitation.port));
    socket.send(::zmq::str_buffer("anything"));
    ::zmq::message_t message;
    EXPECT_FALSE(socket.recv(message));
  }
  EXPECT_TRUE(state().machines.empty());
  joined(invitation);
}

TEST_F(Joining, random_bytes_leave_the_listener_unharmed) {
  const Invitation invitation = invite();
  std::uint64_t random = 7;
  for (int connection = 0; connection < 200; ++connection) {
    const base::Descriptor socket = stranger(invitation.port);
    std::string bytes(2000, '\xff');  // the first byte is that of ZMTP
    for (std::size_t i = 1 + connection % 64; i < bytes.size(); ++i) {
      random = random * 6'364'136'223'846'793'005U + 1;
      bytes[i] = static_cast<char>(random >> 56);
    }
    static_cast<void>(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
  }
  // The listener limits connections from one address until it noticed that these ended.
  const std::int64_t end = base::now_nanoseconds() + kLimit;
  while (!fetch_listener_key(invitation) && base::now_nanoseconds() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const Joined machine = joined(invitation);
  EXPECT_EQ(state().machines.size(), 1U) << "and no other machine";
}

TEST_F(Joining, frames_of_a_machine_that_make_no_sense_are_ignored) {
  const Joined machine = joined(invite());
  for (const JoinFrameKind kind :
       {JoinFrameKind::message, JoinFrameKind::open, JoinFrameKind::credit, JoinFrameKind::close})
    machine.connection->send({kind, 12'345, 99, "x"});
  machine.connection->send({JoinFrameKind::ping});
  EXPECT_EQ(next(*machine.connection).kind, JoinFrameKind::ping);
}

TEST_F(Joining, second_listener_of_the_user_is_refused) {
  const auto served =
      run_listener({.address = "127.0.0.1", .directory = session::listener_directory().value()});
  ASSERT_FALSE(served);
  EXPECT_EQ(served.error().id, "listener_runs");
  EXPECT_TRUE(session::ask_listener(session::ListJoined{})) << "the first one answers";
}

TEST(Listener, ends_when_it_is_idle) {
  std::string pattern = "/tmp/trainyard-join-test-XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  EXPECT_TRUE(run_listener({.address = "127.0.0.1", .directory = directory, .idle_seconds = 0.1}));
  EXPECT_FALSE(std::filesystem::exists(directory / session::kListenerSocket));
  std::filesystem::remove_all(directory);
}

TEST(Listener, names_an_address_that_it_cannot_use) {
  std::string pattern = "/tmp/trainyard-join-test-XXXXXX";
  const std::filesystem::path directory = ::mkdtemp(pattern.data());
  const auto other = run_listener({.address = "192.0.2.77", .directory = directory});
  const auto name = run_listener({.address = "nowhere", .directory = directory});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().id, "cannot_listen");
  ASSERT_FALSE(name);
  EXPECT_THAT(name.error(), IsProblem("bad_address", "nowhere"));
  std::filesystem::remove_all(directory);
}

TEST(Curve, self_test_finds_a_server_that_accepts_unknown_keys) {
  ::zmq::context_t context;
  const auto keys = make_curve_keys();
  const KeyHandler handler(context, [](const std::string&, const std::string&) { return true; });
  ::zmq::socket_t open(context, ::zmq::socket_type::router);
  KeyHandler::protect_server(open, *keys);
  open.bind("tcp://127.0.0.1:*");
  const auto tested =
      refuses_unknown_keys(context, open.get(::zmq::sockopt::last_endpoint), keys->public_key);
  ASSERT_FALSE(tested);
  EXPECT_EQ(tested.error().id, "encryption_does_not_protect");
}

}  // namespace
}  // namespace trainyard::zmq
