// SPDX-License-Identifier: GPL-3.0-or-later
// A server among strangers: whatever they send, it lives, stays small, and serves its clients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <vector>
#include <zmq.hpp>

#include "backends/zmq/control.h"
#include "core/base/clock.h"
#include "tests/backends/zmq/control_directory.h"
#include "tests/backends/zmq/control_frames.h"
#include "tests/conformance/control_messages.h"
#include "tests/conformance/control_use.h"

namespace trainyard::zmq {
namespace {

using conformance::must;
using conformance::patience;
using conformance::step;
using conformance::step_of;
using session::Horizon;
using std::chrono::milliseconds;

#ifdef __SANITIZE_ADDRESS__
constexpr std::int64_t most_growth = std::int64_t{1} << 30;  // the sanitizer keeps what was freed
#else
constexpr std::int64_t most_growth = 64 << 20;
#endif

std::int64_t resident_bytes() {
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

constexpr const char* run_name = "a run";

ControlHeader ours(std::uint64_t sequence) {
  return {base::xxh64(std::string_view(run_name)), 1, sequence};
}

// Frames of the long test; a million by hand, fewer where everything is tested at once.
std::uint64_t frames_to_send() {
  const char* number = std::getenv("TRAINYARD_HOSTILE_FRAMES");
  return number != nullptr ? std::strtoull(number, nullptr, 10) : 100'000;
}

// Someone who speaks ZeroMQ but not our protocol.
class Stranger {
 public:
  explicit Stranger(const std::string& endpoint) : socket_(context_, ::zmq::socket_type::dealer) {
    socket_.set(::zmq::sockopt::linger, 0);
    socket_.connect(endpoint);
  }
  void send(const std::string& frame, bool more = false) {
    socket_.send(::zmq::buffer(frame), more ? ::zmq::send_flags::sndmore : ::zmq::send_flags::none);
  }

 private:
  ::zmq::context_t context_;
  ::zmq::socket_t socket_;
};

// Bytes that are not even ZeroMQ's, over a connection that is dropped again.
void send_raw(const std::filesystem::path& path, const std::string& bytes) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    static_cast<void>(::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  ::close(fd);
}

std::vector<std::string> good_frames() {
  std::vector<std::string> frames;
  for (const session::Message& message : conformance::sample_messages())
    if (const std::string frame = *encode_message(ours(1), message); frame.size() < 2'000)
      frames.push_back(frame);
  return frames;
}

std::string hostile_frame(const std::vector<std::string>& good, std::mt19937_64& random) {
  const std::string& frame = good[random() % good.size()];
  switch (random() % 8) {
    case 0: return random_bytes(300, random);
    case 1: return frame;  // often a replay
    default: return mutated(frame, random);
  }
}

class HostileControl : public testing::Test {
 protected:
  // Receives until `count` frames have come, good or bad; the number of good ones.
  std::uint64_t drain(std::uint64_t count) {
    std::uint64_t good = 0, before = 0;
    for (int idle = 0; good + server_->malformed() < count && idle < 1'000; ++idle) {
      if (must(server_->receive(milliseconds(10))).has_value()) ++good;
      if (good + server_->malformed() > before) idle = 0;
      before = good + server_->malformed();
    }
    EXPECT_EQ(good + server_->malformed(), count);
    return good;
  }

  void expect_that_it_serves() {
    const auto client = must(connect(directory_.endpoint()));
    must(client->send(step(77)));
    const session::Received received = must(server_->receive(patience)).value();
    EXPECT_EQ(step_of(received.message), 77);
    server_->send(received.from, step(78));
    EXPECT_EQ(step_of(must(client->receive(patience)).value()), 78);
  }

  SocketDirectory directory_;
  std::unique_ptr<session::ControlServer> server_ =
      must(serve(directory_.endpoint(), {run_name, 1}));
};

TEST_F(HostileControl, random_and_damaged_frames_neither_crash_the_server_nor_use_memory) {
  const std::uint64_t count = frames_to_send();
  const std::int64_t before = resident_bytes();
  std::array<std::optional<Stranger>, 4> strangers;
  for (auto& stranger : strangers) stranger.emplace(directory_.endpoint());
  std::thread sender([&] {
    std::mt19937_64 random(7);
    const auto good = good_frames();
    for (std::uint64_t i = 0; i < count; ++i)
      strangers[i % strangers.size()]->send(hostile_frame(good, random));
  });
  drain(count);
  sender.join();
  const std::int64_t growth = resident_bytes() - before;
  RecordProperty("growth_bytes", std::to_string(growth));
  EXPECT_LE(growth, most_growth);
  EXPECT_GT(server_->malformed(), count * 9 / 10);
  expect_that_it_serves();
}

TEST_F(HostileControl, bytes_that_are_not_zeromq_are_ignored) {
  std::mt19937_64 random(3);
  const std::string greeting = std::string("\xff\0\0\0\0\0\0\0\1\x7f\3\0NULL", 16);
  for (int i = 0; i < 2'000; ++i)
    send_raw(directory_.path() / "control",
             (i % 2 == 0 ? "" : greeting) + random_bytes(200, random));
  expect_that_it_serves();
}

TEST_F(HostileControl, frame_over_the_limit_closes_the_connection_of_its_sender_only) {
  const auto client = must(connect(directory_.endpoint()));
  Stranger stranger(directory_.endpoint());
  stranger.send(std::string(kMaxControlBytes + 1, 'x'));
  expect_that_it_serves();
  must(client->send(step(5)));
  EXPECT_EQ(step_of(must(server_->receive(patience)).value().message), 5);
  EXPECT_EQ(server_->malformed(), 0U);
  EXPECT_FALSE(client->send(session::Assign{std::string(kMaxControlBytes, 'x'), 0, 0, ""}));
}

TEST_F(HostileControl, claimed_length_of_gigabytes_is_dropped_and_counted) {
  Stranger stranger(directory_.endpoint());
  stranger.send(
      frame_around(type_of<session::Start>(), raw(std::uint64_t{1} << 40) + "x", ours(1)));
  EXPECT_EQ(drain(1), 0U);
  expect_that_it_serves();
}

TEST_F(HostileControl, replayed_and_old_frames_are_dropped_and_counted) {
  Stranger stranger(directory_.endpoint());
  for (const std::uint64_t sequence : {5, 5, 4, 1, 6, 6})
    stranger.send(*encode_message(ours(sequence), step(static_cast<std::int64_t>(sequence))));
  EXPECT_EQ(drain(6), 2U);
  EXPECT_EQ(server_->malformed(), 4U);
}

TEST_F(HostileControl, frames_of_another_run_or_generation_are_dropped_and_counted) {
  Stranger stranger(directory_.endpoint());
  stranger.send(*encode_message({base::xxh64("another run"), 1, 1}, step(1)));
  stranger.send(*encode_message({ours(1).run, 2, 2}, step(2)));
  stranger.send(*encode_message({0, 0, 3}, step(3)));  // one who has not heard yet
  stranger.send(*encode_message(ours(4), step(4)));
  EXPECT_EQ(drain(4), 2U);
}

TEST_F(HostileControl, multipart_messages_are_dropped_completely) {
  Stranger stranger(directory_.endpoint());
  const std::string good = *encode_message(ours(1), step(1));
  stranger.send(good, true);
  stranger.send(good, true);
  stranger.send("", false);
  stranger.send("", false);
  stranger.send(good);
  EXPECT_EQ(drain(3), 1U);
}

TEST_F(HostileControl, flood_does_not_delay_receive_beyond_its_limit) {
  std::atomic<bool> done{false};
  std::thread flood([&] {
    Stranger stranger(directory_.endpoint());
    while (!done) stranger.send("nonsense");
  });
  while (server_->malformed() == 0)
    EXPECT_FALSE(must(server_->receive(milliseconds(1))).has_value());
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(must(server_->receive(milliseconds(1))).has_value());
  done = true;
  while (must(server_->receive(milliseconds(50))).has_value()) continue;
  flood.join();
}

// Connects to a local socket; -1 if the system refuses the connection.
int connect_raw(const std::filesystem::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.string().copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

class TwoListeners : public testing::Test {
 protected:
  std::string rank_endpoint() const { return "ipc://" + (directory_.path() / "ranks").string(); }
  void exchange(session::ControlClient& client, std::int64_t number) {
    must(client.send(step(number)));
    const session::Received received = must(server_->receive(patience)).value();
    EXPECT_EQ(step_of(received.message), number);
    server_->send(received.from, step(number + 1));
    EXPECT_EQ(step_of(must(client.receive(patience)).value()), number + 1);
  }

  SocketDirectory directory_;
  std::unique_ptr<session::ControlServer> server_ =
      must(serve(directory_.endpoint(), {run_name, 1, rank_endpoint(), 8, 8}));
};

TEST_F(TwoListeners, serve_viewers_and_ranks) {
  EXPECT_EQ(server_->endpoint(), directory_.endpoint());
  EXPECT_EQ(server_->rank_endpoint(), rank_endpoint());
  const auto viewer = must(connect(server_->endpoint())), rank = must(connect(rank_endpoint()));
  for (int i = 0; i < 3; ++i) {
    exchange(*viewer, 2 * i);
    exchange(*rank, 100 + 2 * i);
  }
}

TEST_F(TwoListeners, refuse_connections_beyond_the_limit_and_keep_those_they_have) {
  const auto viewer = must(connect(server_->endpoint())), rank = must(connect(rank_endpoint()));
  exchange(*viewer, 1);
  exchange(*rank, 1);
  std::vector<int> strangers;
  for (int i = 0; i < 50; ++i) {
    strangers.push_back(connect_raw(directory_.path() / "control"));
    EXPECT_FALSE(must(server_->receive(milliseconds(5))).has_value());
  }
  EXPECT_EQ(strangers.back(), -1) << "the socket cannot be found";
  const auto accepted =
      std::count_if(strangers.begin(), strangers.end(), [](int fd) { return fd >= 0; });
  EXPECT_GE(accepted, 7);
  EXPECT_LE(accepted, 12);
  exchange(*viewer, 3);
  exchange(*rank, 3);
  for (const int fd : strangers)
    if (fd >= 0) ::close(fd);
  for (int i = 0; i < 20; ++i) static_cast<void>(must(server_->receive(milliseconds(5))));
  exchange(*must(connect(server_->endpoint())), 5);
}

TEST_F(TwoListeners, accept_longer_messages_from_ranks_than_from_viewers) {
  Stranger viewer(server_->endpoint()), rank(rank_endpoint());
  viewer.send(std::string(kMaxViewerBytes + 1, 'x'));
  rank.send(std::string(kMaxViewerBytes + 1, 'x'));
  for (int i = 0; i < 100 && server_->malformed() == 0; ++i)
    static_cast<void>(must(server_->receive(milliseconds(10))));
  EXPECT_EQ(server_->malformed(), 1U) << "that of the rank arrived";
  rank.send(std::string(kMaxRankBytes + 1, 'x'));
  for (int i = 0; i < 10; ++i) static_cast<void>(must(server_->receive(milliseconds(10))));
  EXPECT_EQ(server_->malformed(), 1U);
}

}  // namespace
}  // namespace trainyard::zmq
