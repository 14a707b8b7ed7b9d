// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/curve.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <zmq.hpp>

#include "tests/backends/zmq/tcp_pair.h"
#include "tests/conformance/transport_conformance.h"

namespace trainyard::conformance {
namespace {

zmq::CurveKeys made_keys() { return zmq::make_curve_keys().value(); }

std::unique_ptr<zmq::Bound> bound_with(const zmq::CurveKeys& keys) {
  zmq::TransportOptions options;
  options.keys = keys;
  return std::move(*zmq::bind(0, 2, 1, "tcp://127.0.0.1:*", options));
}

// Counts the bytes that a stranger's socket receives, and whether its handshake succeeded.
bool handshake_succeeds(const std::string& endpoint, const std::optional<zmq::CurveKeys>& client,
                        const std::string& server_key) {
  ::zmq::context_t context;
  ::zmq::socket_t monitor(context, ::zmq::socket_type::pair);
  ::zmq::socket_t socket(context, ::zmq::socket_type::push);
  socket.set(::zmq::sockopt::linger, 0);
  if (client) {
    socket.set(::zmq::sockopt::curve_serverkey, server_key);
    socket.set(::zmq::sockopt::curve_publickey, client->public_key);
    socket.set(::zmq::sockopt::curve_secretkey, client->secret_key);
  }
  zmq_socket_monitor(socket.handle(), "inproc://events", ZMQ_EVENT_HANDSHAKE_SUCCEEDED);
  monitor.connect("inproc://events");
  socket.connect(endpoint);
  zmq_pollitem_t item{monitor.handle(), 0, ZMQ_POLLIN, 0};
  const bool succeeded = zmq_poll(&item, 1, 500) > 0;
  zmq_socket_monitor(socket.handle(), nullptr, 0);
  return succeeded;
}

TEST(ZmqCurve, ranks_with_the_keys_of_the_run_exchange_messages) {
  zmq::TransportOptions options;
  options.keys = made_keys();
  options.max_payload_bytes = 300'000;  // the longest message that is accepted
  const auto ends = tcp_pair(options);
  std::vector<std::byte> memory(options.max_payload_bytes);
  fill(memory, 5);
  pass(*ends[0], *ends[1], 0, 0, memory);
  pass(*ends[1], *ends[0], 7, 0, memory);
  EXPECT_EQ(ends[0]->traffic(1).sent_payload_bytes, memory.size())
      << "encryption does not change the counted payload";
}

TEST(ZmqCurve, ranks_exchange_messages_over_ipv6) {
  zmq::TransportOptions options;
  options.keys = made_keys();
  std::vector<std::unique_ptr<zmq::Bound>> bound;
  std::vector<std::string> endpoints;
  for (int rank = 0; rank < 2; ++rank) {
    auto one = zmq::bind(rank, 2, 1, "tcp://[::1]:*", options);
    if (!one && rank == 0) GTEST_SKIP() << "no IPv6 here: " << to_string(one.error());
    ASSERT_TRUE(one) << to_string(one.error());
    bound.push_back(std::move(*one));
    endpoints.push_back(bound.back()->endpoint());
  }
  auto one = bound[0]->connect(endpoints), other = bound[1]->connect(endpoints);
  ASSERT_TRUE(one && other);
  for (int looks = 0; !((*one)->connected() && (*other)->connected()) && looks < 5000; ++looks) {
    (*one)->wait(std::chrono::milliseconds(1));
    (*other)->wait(std::chrono::milliseconds(1));
  }
  std::vector<std::byte> memory(1000);
  fill(memory, 5);
  pass(**one, **other, 0, 0, memory);
}

TEST(ZmqCurve, every_run_has_other_keys) {
  const zmq::CurveKeys one = made_keys(), other = made_keys();
  EXPECT_EQ(one.public_key.size(), 40u);
  EXPECT_EQ(one.secret_key.size(), 40u);
  EXPECT_NE(one.public_key, other.public_key);
  EXPECT_NE(one.secret_key, other.secret_key);
}

// The key of the server is known to strangers in the worst case; their own key is not admitted.
TEST(ZmqCurve, strangers_get_no_connection) {
  const zmq::CurveKeys keys = made_keys(), other_run = made_keys();
  const auto bound = bound_with(keys);
  EXPECT_TRUE(handshake_succeeds(bound->endpoint(), keys, keys.public_key));
  EXPECT_FALSE(handshake_succeeds(bound->endpoint(), made_keys(), keys.public_key)) << "random key";
  EXPECT_FALSE(handshake_succeeds(bound->endpoint(), other_run, other_run.public_key))
      << "keys of another run";
  EXPECT_FALSE(handshake_succeeds(bound->endpoint(), std::nullopt, "")) << "no key";
  EXPECT_TRUE(handshake_succeeds(bound->endpoint(), keys, keys.public_key))
      << "ranks are still admitted";
}

TEST(ZmqCurve, rank_of_another_run_reaches_no_peer) {
  zmq::TransportOptions options;
  options.keys = made_keys();
  options.connect_limit = std::chrono::milliseconds(300);
  const auto server = zmq::bind(0, 2, 1, "tcp://127.0.0.1:*", options);
  options.keys = made_keys();
  const auto client = zmq::bind(1, 2, 1, "tcp://127.0.0.1:*", options);
  const auto end = (*client)->connect({(*server)->endpoint(), (*client)->endpoint()});
  ASSERT_TRUE(end);
  const auto message = comm::await_expected(**end, 0, 0, {tag_of(0), 0}, patient);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().id, "peer_unreachable") << to_string(message.error());
}

}  // namespace
}  // namespace trainyard::conformance
