// SPDX-License-Identifier: GPL-3.0-or-later
#include "backends/zmq/transport.h"

#include <cstdlib>
#include <filesystem>
#include <zmq.hpp>

#include "tests/backends/zmq/tcp_pair.h"
#include "tests/conformance/shaped_backend.h"
#include "tests/conformance/transport_conformance.h"
#include "tests/conformance/transport_faults.h"
#include "tests/conformance/transport_losses.h"

namespace trainyard::conformance {
namespace {

class Directory {
 public:
  Directory() {
    std::string pattern = "/tmp/trainyard-zmq-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  std::string endpoint(int rank) const { return "ipc://" + path_ + "/" + std::to_string(rank); }

 private:
  std::string path_;
};

base::Result<std::unique_ptr<zmq::Transport>> open_known(const Directory& directory, int rank,
                                                         int ranks,
                                                         const zmq::TransportOptions& options,
                                                         std::uint32_t generation = 1) {
  std::vector<std::string> endpoints;
  for (int peer = 0; peer < ranks; ++peer) endpoints.push_back(directory.endpoint(peer));
  auto bound = zmq::bind(rank, ranks, generation, directory.endpoint(rank), options);
  if (!bound) return base::fail(bound.error());
  return (*bound)->connect(endpoints);
}

Backend zmq_backend() {
  const auto prepare = [](const Shape& shape) -> Opener {
    zmq::TransportOptions options;
    options.channels = shape.channels;
    return [directory = std::make_shared<Directory>(), ranks = shape.ranks, options](
               int rank, std::uint32_t generation) {
      return open_known(*directory, rank, ranks, options, generation);
    };
  };
  const auto connected = [](Transport& end) {
    return dynamic_cast<zmq::Transport&>(end).connected();
  };
  return {"zmq", prepare, false, true, connected};
}

INSTANTIATE_TEST_SUITE_P(zmq, TransportConformance, testing::Values(zmq_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_zmq, TransportConformance, testing::Values(shaped(zmq_backend())));
INSTANTIATE_TEST_SUITE_P(zmq, TransportFaults, testing::Values(zmq_backend()));
INSTANTIATE_TEST_SUITE_P(shaped_zmq, TransportFaults, testing::Values(shaped(zmq_backend())));
INSTANTIATE_TEST_SUITE_P(zmq, TransportLosses,
                         testing::Values(zmq_backend(), shaped(zmq_backend())));

TEST(ZmqTransport, connects_ranks_over_tcp_on_free_ports) {
  const auto ends = tcp_pair();
  std::vector<std::byte> memory(100'000);
  fill(memory, 5);
  pass(*ends[0], *ends[1], 0, 0, memory);
  pass(*ends[1], *ends[0], 7, 0, memory);
  for (int rank = 0; rank < 2; ++rank) {
    const comm::Traffic traffic = ends[static_cast<std::size_t>(rank)]->traffic(1 - rank);
    EXPECT_EQ(traffic.sent_payload_bytes, memory.size());
    EXPECT_EQ(traffic.received_payload_bytes, memory.size());
  }
}

TEST(ZmqTransport, refuses_wildcard_and_invalid_endpoints) {
  for (const std::string endpoint :
       {"tcp://*:*", "tcp://0.0.0.0:5555", "tcp://[::]:1", "tcp://:5555", "tcp://127.0.0.1",
        "udp://127.0.0.1:5", "", "ipc://", "inproc://x", "tcp://"})
    EXPECT_FALSE(zmq::bind(0, 1, 1, endpoint)) << endpoint;
  EXPECT_FALSE(zmq::bind(0, 1, 1, "ipc:///tmp/" + std::string(108, 'x')));
  EXPECT_FALSE(zmq::bind(0, 1, 1, "ipc:///no/such/directory/socket"));
  EXPECT_FALSE(zmq::bind(2, 2, 1, "tcp://127.0.0.1:*"));
}

TEST(ZmqTransport, reports_a_port_in_use) {
  const auto first = zmq::bind(0, 1, 1, "tcp://127.0.0.1:*");
  ASSERT_TRUE(good(first));
  const auto second = zmq::bind(0, 1, 1, (*first)->endpoint());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::ProblemCode::unavailable);
  EXPECT_EQ(second.error().id, "cannot_listen") << to_string(second.error());
  EXPECT_EQ(second.error().where, "endpoint \"" + (*first)->endpoint() + "\"");
}

TEST(ZmqTransport, names_a_peer_that_never_connects) {
  const Directory directory;
  zmq::TransportOptions options;
  options.connect_limit = milliseconds(100);
  const auto end = open_known(directory, 0, 2, options);
  ASSERT_TRUE(good(end));
  EXPECT_EQ((*end)->post(1, 0, tag_of(0), {}), false) << "no message is queued for a missing peer";
  const auto message = comm::await_expected(**end, 1, 0, {tag_of(0), 0}, patient);
  ASSERT_FALSE(message);
  EXPECT_EQ(message.error().id, "peer_unreachable") << to_string(message.error());
  EXPECT_NE(message.error().what.find("rank 1 "), std::string::npos);
}

// Each direction has its own connection, and one may be established long before the other.
TEST(ZmqTransport, can_reply_to_every_received_peer) {
  const Directory directory;
  const auto meet = [&](int rank, int where_rank_0_is) {
    auto bound = zmq::bind(rank, 2, 1, directory.endpoint(rank));
    return (*bound)->connect({directory.endpoint(where_rank_0_is), directory.endpoint(1)});
  };
  const int later = 2;
  const auto asks = meet(0, 0), answers = meet(1, later);
  std::vector<std::byte> question(100);
  while (!*(*asks)->post(1, 0, tag_of(0), question)) (*asks)->wait(milliseconds(1));
  (*answers)->wait(milliseconds(200));
  EXPECT_FALSE((*answers)->receive(0, 0)->has_value()) << "was received, but cannot be replied to";
  ::zmq::context_t context;
  ::zmq::socket_t listens(context, ::zmq::socket_type::pull);
  listens.bind(directory.endpoint(later));
  ASSERT_TRUE(comm::await_expected(**answers, 0, 0, {tag_of(0), question.size()}, patient));
  EXPECT_TRUE(*(*answers)->post(0, 0, tag_of(0), question));
}

TEST(ZmqTransport, refuses_posts_that_no_peer_would_accept) {
  zmq::TransportOptions options;
  options.max_payload_bytes = 1000;
  const auto ends = tcp_pair(options);
  const std::vector<std::byte> long_one(1001);
  EXPECT_FALSE(ends[0]->post(1, 0, tag_of(0), long_one));
  EXPECT_FALSE(ends[0]->post(1, 0, {2, 0, 0}, {})) << "of another generation";
  pass(*ends[0], *ends[1], 0, 0, std::span(long_one).first(1000));
}

TEST(ZmqTransport, unread_bytes_are_limited_by_the_window) {
  const std::vector<std::byte> memory(
      600);  // outlives the ends: the last post may still be on its way
  zmq::TransportOptions options;
  options.window_bytes = 1000;
  const auto ends = tcp_pair(options);
  ASSERT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(0), memory, patient)));
  EXPECT_EQ(ends[0]->post(1, 0, tag_of(1), memory), false);
  ASSERT_TRUE(good(comm::await_expected(*ends[1], 0, 0, {tag_of(0), 600}, patient)));
  ASSERT_TRUE(good(ends[1]->release(0, 0)));
  EXPECT_TRUE(good(comm::await_post(*ends[0], 1, 0, tag_of(1), memory, patient)));
}

}  // namespace
}  // namespace trainyard::conformance
