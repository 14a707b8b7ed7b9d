// SPDX-License-Identifier: GPL-3.0-or-later
// Requirements on every control plane. A backend joins with an endpoint where a server can start
// and clients can connect.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/base/clock.h"
#include "tests/conformance/control_messages.h"
#include "tests/conformance/control_use.h"

namespace trainyard::conformance {

using session::ControlClient;
using session::ControlServer;

struct ControlPlace {
  std::function<base::Result<std::unique_ptr<ControlServer>>()> serve;
  std::function<base::Result<std::unique_ptr<ControlClient>>()> connect;  // also before `serve`
};

struct ControlBackend {
  std::string name;
  std::function<ControlPlace()> make;
};

inline std::ostream& operator<<(std::ostream& out, const ControlBackend& backend) {
  return out << backend.name;
}

class ControlConformance : public testing::TestWithParam<ControlBackend> {
 protected:
  std::unique_ptr<ControlServer> serve() { return must(place_.serve()); }
  std::unique_ptr<ControlClient> connect() { return must(place_.connect()); }
  static session::Received next(ControlServer& server) {
    return must(server.receive(patience)).value();
  }
  static session::Message next(ControlClient& client) {
    return must(client.receive(patience)).value();
  }

 private:
  ControlPlace place_ = GetParam().make();
};

TEST_P(ControlConformance, messages_of_every_type_arrive_completely_in_both_directions) {
  const auto server = serve();
  const auto client = connect();
  for (const session::Message& message : sample_messages()) {
    must(client->send(message));
    const session::Received received = next(*server);
    EXPECT_EQ(words(received.message), words(message));
    server->send(received.from, received.message);
    EXPECT_EQ(words(next(*client)), words(message));
  }
  EXPECT_EQ(server->malformed(), 0U);
}

TEST_P(ControlConformance, messages_of_a_client_arrive_in_order) {
  const auto server = serve();
  const auto client = connect();
  for (std::int64_t i = 0; i < 500; ++i) must(client->send(step(i)));
  for (std::int64_t i = 0; i < 500; ++i) ASSERT_EQ(step_of(next(*server).message), i);
}

TEST_P(ControlConformance, messages_of_the_server_arrive_in_order) {
  const auto server = serve();
  const auto client = connect();
  must(client->send(step(0)));
  const session::PeerId peer = next(*server).from;
  for (std::int64_t i = 0; i < 500; ++i) server->send(peer, step(i));
  for (std::int64_t i = 0; i < 500; ++i) ASSERT_EQ(step_of(next(*client)), i);
}

TEST_P(ControlConformance, clients_receive_their_own_replies) {
  const auto server = serve();
  std::vector<std::unique_ptr<ControlClient>> clients;
  for (std::int64_t i = 0; i < 20; ++i) must(clients.emplace_back(connect())->send(step(i)));
  for (int i = 0; i < 20; ++i) {
    const session::Received received = next(*server);
    server->send(received.from, step(100 + step_of(received.message)));
  }
  for (std::int64_t i = 0; i < 20; ++i)
    EXPECT_EQ(step_of(next(*clients[static_cast<std::size_t>(i)])), 100 + i);
}

TEST_P(ControlConformance, clients_in_separate_threads_are_all_received) {
  const auto server = serve();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([this] {
      const auto client = connect();
      for (std::int64_t j = 0; j < 100; ++j) must(client->send(step(j)));
    });
  std::map<session::PeerId, std::int64_t> heard;
  for (int i = 0; i < 800; ++i) {
    const session::Received received = next(*server);
    EXPECT_EQ(step_of(received.message), heard[received.from]++);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heard.size(), 8U);
}

TEST_P(ControlConformance, messages_sent_before_the_server_started_arrive) {
  const auto client = connect();
  must(client->send(step(7)));
  const auto server = serve();
  EXPECT_EQ(step_of(next(*server).message), 7);
}

TEST_P(ControlConformance, receive_returns_nothing_at_its_time_limit) {
  const auto server = serve();
  const auto client = connect();
  for (const milliseconds limit : {milliseconds(0), milliseconds(30)}) {
    const std::int64_t start = base::now_nanoseconds();
    EXPECT_FALSE(must(server->receive(limit)).has_value());
    EXPECT_FALSE(must(client->receive(limit)).has_value());
    EXPECT_GE(base::now_nanoseconds() - start, 2 * std::chrono::nanoseconds(limit).count());
  }
}

TEST_P(ControlConformance, last_message_of_a_closing_client_arrives) {
  const auto server = serve();
  auto client = connect();
  must(client->send(session::Finished{3, 100, "00ff", 1, 2, {}}));
  client.reset();
  EXPECT_EQ(std::get<session::Finished>(next(*server).message).rank, 3);
}

TEST_P(ControlConformance, replies_to_a_disconnected_client_are_dropped) {
  const auto server = serve();
  auto gone = connect();
  must(gone->send(step(1)));
  const session::PeerId peer = next(*server).from;
  gone.reset();
  for (int i = 0; i < 10'000; ++i) server->send(peer, step(i));
  server->send("one who never was", step(1));
  const auto client = connect();
  must(client->send(step(2)));
  EXPECT_EQ(step_of(next(*server).message), 2);
}

TEST_P(ControlConformance, client_without_a_server_gets_a_problem_and_never_blocks) {
  const auto client = connect();
  base::Result<void> sent;
  for (int i = 0; i < 100'000 && sent; ++i) sent = client->send(step(i));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, base::ProblemCode::unavailable);
}

TEST_P(ControlConformance, client_that_does_not_read_does_not_block_the_server) {
  const auto server = serve();
  const auto frozen = connect(), client = connect();
  must(frozen->send(step(1)));
  const session::PeerId peer = next(*server).from;
  for (int i = 0; i < 20'000; ++i) server->send(peer, step(i));
  must(client->send(step(2)));
  EXPECT_EQ(step_of(next(*server).message), 2);
}

inline std::string name_of_backend(const testing::TestParamInfo<ControlBackend>& info) {
  return info.param.name;
}

}  // namespace trainyard::conformance
