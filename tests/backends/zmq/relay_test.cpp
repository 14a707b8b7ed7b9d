// SPDX-License-Identifier: GPL-3.0-or-later
// A rank, both ends of a relay, and a coordinator's control server, over ZeroMQ.
#include "backends/zmq/relay.h"

#include <gtest/gtest.h>

#include "backends/zmq/control.h"
#include "tests/backends/zmq/control_directory.h"

namespace trainyard::zmq {
namespace {

using std::chrono::milliseconds;

class RelayedControl : public testing::Test {
 protected:
  void SetUp() override {
    server_ = serve(endpoint("viewers"),
                    {.run = "r", .generation = 1, .rank_endpoint = endpoint("ranks")})
                  .value();
    of_ranks_ = relay_ranks(endpoint("agent"), 8).value();
    of_coordinator_ = relay_to_coordinator(endpoint("ranks")).value();
  }

  // Passes frames in both directions for a short time. Counts heartbeats.
  void pump() {
    static_cast<void>(of_ranks_->wait({}, milliseconds(5)));
    while (auto frame = of_ranks_->receive(congestion_)) {
      heartbeats_ += frame->is_heartbeat ? 1 : 0;
      of_coordinator_->send(frame->peer, frame->bytes);
    }
    static_cast<void>(of_coordinator_->wait({}, milliseconds(5)));
    while (auto frame = of_coordinator_->receive(session::Congestion::none))
      of_ranks_->send(frame->peer, frame->bytes);
  }

  std::optional<session::Received> received() {
    for (int looks = 0; looks < 500; ++looks) {
      pump();
      if (auto one = server_->receive(milliseconds(1)); one && *one) return std::move(*one);
    }
    return std::nullopt;
  }

  std::string endpoint(const char* name) const {
    return "ipc://" + (directory_.path() / name).string();
  }

  SocketDirectory directory_;
  std::unique_ptr<session::ControlServer> server_;
  std::unique_ptr<session::Relay> of_ranks_, of_coordinator_;
  int heartbeats_ = 0;
  session::Congestion congestion_ = session::Congestion::none;
};

TEST_F(RelayedControl, rank_and_coordinator_exchange_messages) {
  auto rank = connect(endpoint("agent")).value();
  ASSERT_TRUE(rank->send(session::Hello{3, "token", "1.2", 99}));
  const auto hello = received();
  ASSERT_TRUE(hello);
  ASSERT_TRUE(std::holds_alternative<session::Hello>(hello->message));
  EXPECT_EQ(std::get<session::Hello>(hello->message).token, "token");
  const std::string resolved(300'000, 'x');
  server_->send(hello->from, session::Assign{resolved, 1, 7, "/run"});
  std::optional<session::Message> answer;
  for (int looks = 0; looks < 500 && !answer; ++looks) {
    pump();
    answer = rank->receive(milliseconds(1)).value();
  }
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<session::Assign>(*answer).resolved, resolved);
}

TEST_F(RelayedControl, heartbeats_are_marked_and_ranks_are_told_apart) {
  auto one = connect(endpoint("agent")).value(), other = connect(endpoint("agent")).value();
  ASSERT_TRUE(one->send(session::Hello{1, "a", "", 1}));
  const auto first = received();
  ASSERT_TRUE(other->send(session::Progress{2, 5, 6, "op", -1}));
  const auto second = received();
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->from, second->from);
  EXPECT_EQ(std::get<session::Progress>(second->message).step, 5);
  EXPECT_EQ(heartbeats_, 1);
}

TEST_F(RelayedControl, refuses_an_endpoint_in_use) {
  const auto again = relay_ranks(endpoint("agent"), 8);
  ASSERT_FALSE(again);
}

TEST_F(RelayedControl, congestion_drops_events_and_counts_them) {
  auto rank = connect(endpoint("agent")).value();
  session::Events sent{3, 10, std::vector<telemetry::Event>(3)};
  sent.events[0].kind = sent.events[2].kind = telemetry::EventKind::op;
  sent.events[1].kind = telemetry::EventKind::metric;
  ASSERT_TRUE(rank->send(session::Hello{3, "token", "1.2", 99}));
  ASSERT_TRUE(received());
  const auto relayed = [&](session::Congestion congestion) {
    congestion_ = congestion;
    EXPECT_TRUE(rank->send(sent));
    EXPECT_TRUE(rank->send(session::Progress{3, 7, 0, "", -1}));
    auto message = received();
    session::Events events;
    if (message && std::holds_alternative<session::Events>(message->message)) {
      events = std::get<session::Events>(message->message);
      message = received();
    }
    EXPECT_TRUE(message && std::holds_alternative<session::Progress>(message->message));
    return events;
  };
  EXPECT_EQ(relayed(session::Congestion::none).events.size(), 3U);
  const session::Events some = relayed(session::Congestion::some);
  ASSERT_EQ(some.events.size(), 1U);
  EXPECT_EQ(some.events[0].kind, telemetry::EventKind::metric);
  EXPECT_EQ(some.dropped, 10U + 2U);
  EXPECT_TRUE(relayed(session::Congestion::severe).events.empty());
  const session::Events later = relayed(session::Congestion::none);
  EXPECT_EQ(later.events.size(), 3U);
  EXPECT_EQ(later.dropped, 10U + 5U);
}

}  // namespace
}  // namespace trainyard::zmq
