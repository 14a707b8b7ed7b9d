// SPDX-License-Identifier: GPL-3.0-or-later
// Frames from someone who is no rank: dropped and counted, in bounded time, and the ranks go on.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <zmq.hpp>

#include "backends/zmq/transport.h"
#include "backends/zmq/transport_frame.h"
#include "core/base/random.h"
#include "tests/conformance/transport_backend.h"
#include "tests/problem_matchers.h"

namespace trainyard::conformance {
namespace {

using zmq::FrameHeader;
using zmq::FrameKind;

class HostilePeer : public testing::Test {
 protected:
  void SetUp() override {
    zmq::TransportOptions options;
    options.channels = 2;
    options.run_key = 77;
    options.max_payload_bytes = 10'000;
    std::vector<std::unique_ptr<zmq::Bound>> bound;
    std::vector<std::string> endpoints;
    for (int rank = 0; rank < 2; ++rank) {
      auto one = zmq::bind(rank, 2, 5, "tcp://127.0.0.1:*", options);
      ASSERT_TRUE(good(one));
      bound.push_back(std::move(*one));
      endpoints.push_back(bound.back()->endpoint());
    }
    for (const auto& one : bound) ends_.push_back(std::move(*one->connect(endpoints)));
    hostile_.connect(endpoints[1]);
    port_ = std::stoi(endpoints[1].substr(endpoints[1].rfind(':') + 1));
    pass_one();
  }

  // The next message from rank 0 to rank 1.
  void pass_one() {
    const comm::Tag tag{5, 0, static_cast<std::uint32_t>(passed_++)};
    ASSERT_TRUE(good(comm::await_post(*ends_[0], 1, 0, tag, memory_, patient)));
    ASSERT_TRUE(good(comm::await_expected(*ends_[1], 0, 0, {tag, memory_.size()}, patient)));
    ASSERT_TRUE(good(ends_[1]->release(0, 0)));
  }

  // Returns the next valid header of rank 0.
  FrameHeader next_header() const {
    FrameHeader header;
    header.run_key = 77;
    header.generation = 5;
    header.to = 1;
    header.sequence = static_cast<std::uint64_t>(passed_);
    return header;
  }

  void send(const FrameHeader& header, std::size_t payload_bytes = 0) {
    const auto frame = encode(header);
    hostile_.send(::zmq::const_buffer(frame.data(), frame.size()),
                  has_payload(header.kind) ? ::zmq::send_flags::sndmore : ::zmq::send_flags::none);
    if (has_payload(header.kind))
      hostile_.send(::zmq::message_t(payload_bytes), ::zmq::send_flags::none);
  }
  void send_parts(const std::vector<std::size_t>& sizes) {
    for (std::size_t i = 0; i < sizes.size(); ++i)
      hostile_.send(::zmq::message_t(sizes[i]),
                    i + 1 < sizes.size() ? ::zmq::send_flags::sndmore : ::zmq::send_flags::none);
  }

  bool rejected(std::uint64_t count) {
    const auto end = std::chrono::steady_clock::now() + patient;
    while (ends_[1]->rejected_frames() < count && std::chrono::steady_clock::now() < end)
      ends_[1]->wait(milliseconds(10));
    return ends_[1]->rejected_frames() == count;
  }

  std::vector<std::unique_ptr<zmq::Transport>> ends_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(100);
  int passed_ = 0;
  int port_ = 0;
  ::zmq::context_t context_;
  ::zmq::socket_t hostile_{context_, ::zmq::socket_type::push};
};

TEST_F(HostilePeer, with_malformed_messages_is_ignored_and_counted) {
  send_parts({0});
  send_parts({64});
  send_parts({63, 5});
  send_parts({64, 64, 64, 64});
  send_parts(std::vector<std::size_t>(1000, 3));
  EXPECT_TRUE(rejected(5));
  pass_one();
}

TEST_F(HostilePeer, with_valid_frames_of_another_run_is_ignored_and_counted) {
  std::vector<FrameHeader> wrong(8, next_header());
  wrong[0].run_key = 78;
  wrong[1].from = 2;
  wrong[2].from = 1;
  wrong[3].to = 0;
  wrong[4].channel = 2;
  wrong[5].generation = 6;
  wrong[6].payload_bytes = 1;  // but none comes
  wrong[7].kind = FrameKind::consumed, wrong[7].sequence = 1'000'000;
  for (const FrameHeader& header : wrong) send(header);
  EXPECT_TRUE(rejected(wrong.size())) << ends_[1]->rejected_frames();
  pass_one();
}

TEST_F(HostilePeer, with_a_repeated_message_is_ignored_and_counted) {
  FrameHeader header = next_header();
  header.sequence = 0;
  header.payload_bytes = 100;
  send(header, 100);
  EXPECT_TRUE(rejected(1));
  pass_one();
}

TEST_F(HostilePeer, with_frames_of_an_older_generation_is_counted_as_stale) {
  FrameHeader header = next_header();
  header.generation = 4;
  send(header);
  const auto end = std::chrono::steady_clock::now() + patient;
  while (ends_[1]->traffic(0).stale_messages == 0 && std::chrono::steady_clock::now() < end)
    ends_[1]->wait(milliseconds(10));
  EXPECT_EQ(ends_[1]->traffic(0).stale_messages, 1u);
  pass_one();
}

TEST_F(HostilePeer, with_frames_of_a_rank_that_has_another_connection_is_ignored_and_counted) {
  FrameHeader header = next_header();
  header.payload_bytes = 100;
  send(header, 100);
  EXPECT_TRUE(rejected(1));
  pass_one();
}

// The test is rank 0.
TEST(ZmqPeer, with_a_gap_in_the_sequence_is_named) {
  zmq::TransportOptions options;
  options.run_key = 77;
  ::zmq::context_t context;
  ::zmq::socket_t inbox(context, ::zmq::socket_type::pull), out(context, ::zmq::socket_type::push);
  inbox.bind("tcp://127.0.0.1:*");
  auto bound = zmq::bind(1, 2, 5, "tcp://127.0.0.1:*", options);
  ASSERT_TRUE(good(bound));
  out.connect((*bound)->endpoint());
  const auto end = (*bound)->connect({inbox.get(::zmq::sockopt::last_endpoint), ""});
  ASSERT_TRUE(good(end));
  FrameHeader header;
  header.run_key = 77;
  header.generation = 5;
  header.to = 1;
  header.sequence = 3;
  const auto frame = encode(header);
  out.send(::zmq::const_buffer(frame.data(), frame.size()), ::zmq::send_flags::sndmore);
  out.send(::zmq::message_t(0), ::zmq::send_flags::none);
  const auto message = comm::await_expected(**end, 0, 0, {{5, 0, 1}, 0}, patient);
  ASSERT_FALSE(message);
  EXPECT_THAT(message.error(),
              testing::AllOf(base::IsProblem("message_lost"), base::Reports("rank 0"),
                             base::Reports("message 3"), base::Reports("channel 0"),
                             base::Reports("message 0")));
}

TEST_F(HostilePeer, with_an_oversized_frame_loses_the_connection) {
  send_parts({10'001});
  pass_one();
  EXPECT_EQ(ends_[1]->rejected_frames(), 0u);
}

TEST_F(HostilePeer, without_zeromq_does_no_harm) {
  const base::Random random(2, base::Purpose::generate, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (std::uint64_t attempt = 0; attempt < 50; ++attempt) {
    std::vector<std::uint64_t> garbage(static_cast<std::size_t>(1 + random.below(attempt, 2000)));
    for (std::size_t i = 0; i < garbage.size(); ++i) garbage[i] = random.bits(attempt << 32 | i);
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    ::send(fd, garbage.data(), garbage.size() * sizeof(std::uint64_t), MSG_NOSIGNAL);
    ::close(fd);
  }
  pass_one();
  EXPECT_TRUE(good(ends_[1]->state()));
}

TEST_F(HostilePeer, with_a_hundred_thousand_random_frames_does_no_harm) {
  const base::Random random(1, base::Purpose::generate, 0);
  constexpr std::uint64_t count = 100'000;
  hostile_.set(::zmq::sockopt::sndhwm, 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    auto frame = encode(next_header());
    for (std::uint64_t k = 0; k <= random.below(4 * i, 8); ++k)
      frame[random.below(4 * i + k + 1, frame.size())] ^=
          static_cast<std::byte>(1 + random.below(i, 255));
    hostile_.send(
        ::zmq::const_buffer(frame.data(),
                            random.below(i, 10) == 0 ? random.below(i + 7, 64) : frame.size()),
        ::zmq::send_flags::none);
  }
  EXPECT_TRUE(rejected(count)) << ends_[1]->rejected_frames();
  pass_one();
}

}  // namespace
}  // namespace trainyard::conformance
