// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/hosts/frame_stream.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/base/descriptor.h"

namespace trainyard::session {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} << 10;
constexpr char kFrameEnd = '\n';

// As ::write, but a pipe without a reader is an error (EPIPE) and never ends this process by
// SIGPIPE, whatever the process does with that signal.
ssize_t write_without_signal(int descriptor, std::string_view bytes) {
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const timespec at_once{};
    ::sigtimedwait(&pipe_signal, nullptr, &at_once);  // removes the signal of this thread
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void append_number(std::string& bytes, std::uint32_t value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

FrameStream::FrameStream(int input, int output, std::string peer)
    : input_(input), output_(output), peer_(std::move(peer)), unwritten_(kMagic) {
  base::make_nonblocking(input_);
  base::make_nonblocking(output_);
}

FrameStream::~FrameStream() {
  ::close(input_);
  if (output_ != input_) ::close(output_);
}

base::Problem FrameStream::problem(const char* id, const std::string& what) const {
  return {id, base::ProblemCode::unavailable, peer_, what, "", ""};
}

void FrameStream::send(std::uint32_t channel, std::string bytes, bool urgent) {
  queued_bytes_ += bytes.size();
  (urgent ? urgent_ : normal_).push_back({channel, std::move(bytes)});
}

bool FrameStream::is_queued(std::uint32_t channel) const {
  const auto is_of_channel = [channel](const Outgoing& one) { return one.channel == channel; };
  return std::ranges::any_of(urgent_, is_of_channel) || std::ranges::any_of(normal_, is_of_channel);
}

// Appends the next frame to the bytes to be written.
void FrameStream::fill() {
  auto& queue = urgent_.empty() ? normal_ : urgent_;
  Outgoing& next = queue.front();
  const std::size_t part = std::min(kMaxFrameBytes, next.bytes.size() - next.sent);
  const bool is_last = next.sent + part == next.bytes.size();
  append_number(unwritten_, static_cast<std::uint32_t>(part));
  append_number(unwritten_, next.channel);
  unwritten_.push_back(is_last ? '\1' : '\0');
  unwritten_.append(next.bytes, next.sent, part);
  unwritten_.push_back(kFrameEnd);
  next.sent += part;
  queued_bytes_ -= part;
  made_bytes_ += kHeaderBytes + part + 1;
  if (is_last) queue.pop_front();
}

base::Result<void> FrameStream::write() {
  while (has_output()) {
    if (unwritten_.empty()) fill();
    const ssize_t written = write_without_signal(output_, unwritten_);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return {};
    if (written < 0)
      return base::fail(base::system_problem(peer_, "the connection is lost", errno));
    unwritten_.erase(0, static_cast<std::size_t>(written));
  }
  return {};
}

base::Result<void> FrameStream::read() {
  std::array<char, kReadBytes> buffer{};
  while (true) {
    const ssize_t count = ::read(input_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return {};
    if (count < 0) return base::fail(base::system_problem(peer_, "the connection is lost", errno));
    if (count == 0) return base::fail(problem("end_of_stream", "the connection was closed"));
    received_.append(buffer.data(), static_cast<std::size_t>(count));
    if (!begun_)
      if (auto ok = begin(); !ok) return ok;
    if (begun_)
      if (auto ok = parse(); !ok) return ok;
  }
}

// Skips text until the magic number.
base::Result<void> FrameStream::begin() {
  const std::size_t at = received_.find(kMagic);
  begun_ = at != std::string::npos;
  if (begun_) {
    text_ += received_.substr(0, at);
    received_.erase(0, at + kMagic.size());
    return {};
  }
  // The end may be the beginning of the magic number.
  const std::size_t known = received_.size() - std::min(received_.size(), kMagic.size() - 1);
  text_ += received_.substr(0, known);
  received_.erase(0, known);
  if (text_.size() <= kMaxTextBytes) return {};
  return base::fail(problem("no_agent", "the program that answers is not trainyard-agent"));
}

base::Result<void> FrameStream::parse() {
  std::size_t at = 0;
  for (; received_.size() - at >= kHeaderBytes;) {
    const std::size_t length = number_at(received_, at);
    const std::uint32_t channel = number_at(received_, at + 4);
    const auto last = static_cast<unsigned char>(received_[at + 8]);
    if (length > kMaxFrameBytes || last > 1)
      return base::fail(problem("bad_frame", "a frame is damaged or of another program"));
    const std::size_t end = at + kHeaderBytes + length;
    if (received_.size() <= end) break;
    if (received_[end] != kFrameEnd)
      return base::fail(problem("bad_frame", "a frame is damaged or of another program"));
    std::string& message = partial_[channel];
    message.append(received_, at + kHeaderBytes, length);
    at = end + 1;
    if (message.size() > kMaxMessageBytes || partial_.size() > kMaxChannels)
      return base::fail(problem("message_too_long", fmt::format("a message of channel {} is longer "
                                                                "than {} bytes",
                                                                channel, kMaxMessageBytes)));
    if (last == 0) continue;
    complete_.push_back({channel, std::move(message)});
    partial_.erase(channel);
  }
  received_.erase(0, at);
  arrived_bytes_ += at;
  return {};
}

std::optional<ChannelMessage> FrameStream::take() {
  if (complete_.empty()) return std::nullopt;
  ChannelMessage message = std::move(complete_.front());
  complete_.pop_front();
  return message;
}

}  // namespace trainyard::session
