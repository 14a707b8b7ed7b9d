// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/frame_stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>

#include "core/base/random.h"

namespace trainyard::session {
namespace {

struct Pair {
  Pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
    one = std::make_unique<FrameStream>(ends[0], ends[0], "one");
    two = std::make_unique<FrameStream>(ends[1], ends[1], "two");
  }
  // Writes and reads until both ends have nothing left to write.
  void pump() {
    do {
      EXPECT_TRUE(one->write());
      EXPECT_TRUE(two->write());
      EXPECT_TRUE(one->read());
      EXPECT_TRUE(two->read());
    } while (one->has_output() || two->has_output());
  }
  std::unique_ptr<FrameStream> one, two;
};

// The write end of a pipe whose read end is a stream, for bytes that no stream sends.
struct Raw {
  Raw() {
    std::array<int, 2> in{}, out{};
    EXPECT_EQ(::pipe(in.data()), 0);
    EXPECT_EQ(::pipe(out.data()), 0);
    stream = std::make_unique<FrameStream>(in[0], out[1], "host1");
    to = in[1];
    from = out[0];
  }
  ~Raw() {
    if (to >= 0) ::close(to);
    ::close(from);
  }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void write(const std::string& bytes) const {
    ASSERT_EQ(::write(to, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close() { ::close(std::exchange(to, -1)); }
  std::unique_ptr<FrameStream> stream;
  int to = -1, from = -1;
};

const std::string kMagic{FrameStream::kMagic};

std::string frame(std::uint32_t length, std::uint32_t channel, char last,
                  const std::string& bytes) {
  std::string header(8, '\0');
  std::memcpy(header.data(), &length, 4);
  std::memcpy(header.data() + 4, &channel, 4);
  return header + last + bytes + "\n";
}

TEST(FrameStream, messages_of_channels_arrive_in_order) {
  Pair pair;
  pair.one->send(1, "first");
  pair.one->send(2, "");
  pair.one->send(1, std::string(300'000, 'x'));
  pair.two->send(7, "answer");
  pair.pump();
  for (const auto& [channel, bytes] : {std::pair<std::uint32_t, std::string>{1, "first"},
                                       {2, ""},
                                       {1, std::string(300'000, 'x')}}) {
    const auto message = pair.two->take();
    ASSERT_TRUE(message);
    EXPECT_EQ(message->channel, channel);
    EXPECT_EQ(message->bytes, bytes);
  }
  EXPECT_FALSE(pair.two->take());
  EXPECT_EQ(pair.one->take()->bytes, "answer");
  EXPECT_EQ(pair.one->queued_bytes(), 0u);
}

// A heartbeat overtakes a message of 8 MB of which a part has been sent.
TEST(FrameStream, urgent_messages_precede_others) {
  Pair pair;
  pair.one->send(1, std::string(std::size_t{8} << 20, 'x'));
  ASSERT_TRUE(pair.one->write());  // as much as the socket accepts
  ASSERT_TRUE(pair.one->has_output());
  pair.one->send(2, "heartbeat", true);
  pair.pump();
  EXPECT_EQ(pair.two->take()->bytes, "heartbeat");
  EXPECT_EQ(pair.two->take()->bytes.size(), std::size_t{8} << 20);
}

TEST(FrameStream, text_of_a_login_shell_is_skipped) {
  const Raw raw;
  raw.write("Welcome to Debian\nLast login: today\n" + kMagic.substr(0, 5));
  ASSERT_TRUE(raw.stream->read());
  EXPECT_FALSE(raw.stream->has_begun());
  raw.write(kMagic.substr(5) + frame(2, 3, 1, "ok"));
  ASSERT_TRUE(raw.stream->read());
  EXPECT_EQ(raw.stream->text(), "Welcome to Debian\nLast login: today\n");
  const auto message = raw.stream->take();
  ASSERT_TRUE(message);
  EXPECT_EQ(message->bytes, "ok");
}

TEST(FrameStream, refuses_what_is_no_frame) {
  const struct {
    const char* name;
    std::string bytes;
    const char* id;
  } cases[]{
      {"another program", std::string(70'000, 'x'), "no_agent"},
      {"frame too long", kMagic + frame(FrameStream::kMaxFrameBytes + 1, 1, 1, ""), "bad_frame"},
      {"flag of no meaning", kMagic + frame(1, 1, 2, "x"), "bad_frame"},
      {"other end of a frame", kMagic + frame(1, 1, 1, "xyz"), "bad_frame"},
  };
  for (const auto& one : cases) {
    Raw raw;
    for (std::size_t at = 0; at < one.bytes.size(); at += 30'000) {
      raw.write(one.bytes.substr(at, 30'000));
      const auto read = raw.stream->read();
      if (at + 30'000 < one.bytes.size()) continue;
      ASSERT_FALSE(read) << one.name;
      EXPECT_EQ(read.error().id, one.id) << one.name;
      EXPECT_EQ(read.error().where, "host1");
    }
  }
}

TEST(FrameStream, limits_messages_and_channels) {
  Raw raw;
  raw.write(kMagic);
  const std::string part = frame(60'000, 1, 0, std::string(60'000, 'x'));
  base::Result<void> read;
  std::size_t bytes = 0;
  for (; read && bytes < 2 * FrameStream::kMaxMessageBytes; bytes += part.size()) {
    raw.write(part);
    read = raw.stream->read();
  }
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "message_too_long");
  EXPECT_LT(bytes, FrameStream::kMaxMessageBytes + 2 * part.size());
  Raw many;
  many.write(kMagic);
  read = {};
  for (std::uint32_t channel = 0; read && channel < 2 * FrameStream::kMaxChannels; ++channel) {
    many.write(frame(1, channel, 0, "x"));
    read = many.stream->read();
  }
  EXPECT_FALSE(read);
}

TEST(FrameStream, reports_the_end_of_the_stream_after_its_messages) {
  Raw raw;
  raw.write(kMagic + frame(4, 1, 1, "last"));
  raw.close();
  const auto read = raw.stream->read();
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().id, "end_of_stream");
  EXPECT_EQ(raw.stream->take()->bytes, "last");
}

TEST(FrameStream, writing_to_a_closed_pipe_is_a_problem_and_no_signal) {
  Raw raw;
  ::close(std::exchange(raw.from, ::dup(STDERR_FILENO)));
  raw.stream->send(0, "text");
  EXPECT_FALSE(raw.stream->write());
  sigset_t pending;
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGPIPE), 0);
}

TEST(FrameStream, damaged_bytes_end_with_a_message_or_a_problem) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    const base::Random random(seed, base::Purpose::generate, 0);
    std::string bytes = kMagic + frame(5, 1, 0, "hello") + frame(6, 1, 1, " world");
    for (std::uint64_t i = 0; i < 3; ++i)
      bytes[random.bits(2 * i) % bytes.size()] = static_cast<char>(random.bits(2 * i + 1));
    Raw raw;
    raw.write(bytes);
    raw.close();
    EXPECT_FALSE(raw.stream->read());
    while (raw.stream->take()) {
    }
  }
}

}  // namespace
}  // namespace trainyard::session
