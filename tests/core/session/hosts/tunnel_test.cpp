// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/tunnel.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

namespace trainyard::session {
namespace {

// A tunnel between a socket (of a coordinator) and a pair of pipes (of an agent).
class Tunnels : public testing::Test {
 protected:
  Tunnels() {
    std::array<int, 2> sockets{}, to{}, from{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()),
              0);
    EXPECT_EQ(::pipe2(to.data(), O_CLOEXEC | O_NONBLOCK), 0);
    EXPECT_EQ(::pipe2(from.data(), O_CLOEXEC | O_NONBLOCK), 0);
    coordinator_ = base::Descriptor(sockets[0]);
    agent_input_ = base::Descriptor(to[0]);
    agent_output_ = base::Descriptor(from[1]);
    near_.emplace(7, base::Descriptor(sockets[1]), base::Descriptor(::dup(sockets[1])));
    far_.emplace(7, base::Descriptor(from[0]), base::Descriptor(to[1]));
  }

  // Exchanges frames until there is none.
  void exchange() {
    for (bool moved = true; moved;) {
      moved = false;
      for (const JoinFrame& frame : near_->move()) far_->take(frame), moved = true;
      for (const JoinFrame& frame : far_->move()) near_->take(frame), moved = true;
    }
  }

  base::Descriptor coordinator_{-1}, agent_input_{-1}, agent_output_{-1};
  std::optional<Tunnel> near_, far_;
};

std::string random_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  std::uint64_t state = 1;
  for (char& byte : bytes) {
    state = state * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

// Writes all bytes to one end and reads them at the other one.
template <class Exchange>
std::string passed(const std::string& bytes, int to, int from, const Exchange& exchange) {
  std::string received;
  std::size_t sent = 0;
  for (int idle = 0; received.size() < bytes.size() && idle < 100; ++idle) {
    const ssize_t put = ::write(to, bytes.data() + sent, bytes.size() - sent);
    if (put > 0) sent += static_cast<std::size_t>(put), idle = 0;
    exchange();
    std::array<char, 50'000> block{};
    const ssize_t got = ::read(from, block.data(), block.size());
    if (got > 0) received.append(block.data(), static_cast<std::size_t>(got)), idle = 0;
  }
  return received;
}

TEST_F(Tunnels, pass_bytes_in_both_directions) {
  const std::string bytes = random_bytes(3'000'000);
  const auto exchange = [this] { this->exchange(); };
  EXPECT_EQ(passed(bytes, coordinator_.get(), agent_input_.get(), exchange), bytes);
  EXPECT_EQ(passed(bytes, agent_output_.get(), coordinator_.get(), exchange), bytes);
}

TEST_F(Tunnels, hold_at_most_one_window_for_a_peer_that_does_not_read) {
  const std::string bytes = random_bytes(100'000);
  std::size_t sent = 0;
  for (int i = 0; i < 100; ++i) {
    const ssize_t put = ::write(coordinator_.get(), bytes.data(), bytes.size());
    if (put > 0) sent += static_cast<std::size_t>(put);
    exchange();
  }
  constexpr std::size_t kPipes = std::size_t{1} << 20;  // at most, in sockets and pipes
  EXPECT_LE(sent, Tunnel::kWindow + kPipes);
  EXPECT_GE(sent, Tunnel::kWindow);
}

TEST_F(Tunnels, end_when_the_coordinator_closes_and_the_agent_ends) {
  ASSERT_EQ(::write(coordinator_.get(), "last", 4), 4);
  coordinator_.close();
  exchange();
  std::array<char, 16> block{};
  EXPECT_EQ(::read(agent_input_.get(), block.data(), block.size()), 4);
  exchange();
  EXPECT_EQ(::read(agent_input_.get(), block.data(), block.size()), 0) << "end of file";
  EXPECT_FALSE(far_->is_over()) << "the agent may still print";
  agent_output_.close();
  exchange();
  EXPECT_TRUE(near_->is_over());
  EXPECT_TRUE(far_->is_over());
}

TEST_F(Tunnels, end_when_the_agent_ends) {
  ASSERT_EQ(::write(agent_output_.get(), "last", 4), 4);
  agent_output_.close();
  agent_input_.close();
  exchange();
  std::array<char, 16> block{};
  EXPECT_EQ(::read(coordinator_.get(), block.data(), block.size()), 4);
  EXPECT_EQ(::read(coordinator_.get(), block.data(), block.size()), 0) << "end of file";
  coordinator_.close();
  exchange();
  EXPECT_TRUE(near_->is_over());
  EXPECT_TRUE(far_->is_over());
}

TEST_F(Tunnels, abort_if_bytes_are_missing_or_too_many) {
  far_->take({JoinFrameKind::data, 7, 5, "later"});
  EXPECT_EQ(::read(agent_input_.get(), std::array<char, 1>().data(), 1), 0);
  far_->move();
  EXPECT_TRUE(far_->is_over());
  near_->take({JoinFrameKind::data, 7, 0, std::string(Tunnel::kWindow + 1, 'x')});
  near_->move();
  EXPECT_TRUE(near_->is_over());
}

TEST_F(Tunnels, abort_if_more_is_credited_than_was_sent) {
  near_->take({JoinFrameKind::credit, 7, 1});
  near_->move();
  EXPECT_TRUE(near_->is_over());
}

TEST(JoinFrames, are_read_as_they_were_written) {
  const JoinFrame frame{JoinFrameKind::data, 0x01020304, 0x05060708090a0b0c,
                        std::string("\0\xff", 2)};
  const std::string bytes = to_bytes(frame);
  EXPECT_EQ(bytes, std::string("\x04\x04\x03\x02\x01\x0c\x0b\x0a\x09\x08\x07\x06\x05\0\xff", 15));
  const auto read = join_frame_from(bytes, "peer");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->kind, frame.kind);
  EXPECT_EQ(read->session, frame.session);
  EXPECT_EQ(read->offset, frame.offset);
  EXPECT_EQ(read->bytes, frame.bytes);
}

TEST(JoinFrames, of_other_kinds_or_sizes_are_refused) {
  const std::string good = to_bytes({JoinFrameKind::ping});
  EXPECT_TRUE(join_frame_from(good, "peer"));
  EXPECT_FALSE(join_frame_from("", "peer"));
  EXPECT_FALSE(join_frame_from(good.substr(1), "peer"));
  EXPECT_FALSE(join_frame_from('\x07' + good.substr(1), "peer"));
  EXPECT_FALSE(join_frame_from('\0' + good.substr(1), "peer"));
  EXPECT_FALSE(join_frame_from(good + std::string(kMaxJoinFrameBytes, 'x'), "peer"));
}

}  // namespace
}  // namespace trainyard::session
