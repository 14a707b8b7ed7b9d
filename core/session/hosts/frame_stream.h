// SPDX-License-Identifier: GPL-3.0-or-later
// Messages of many channels over one byte stream in each direction, such as the standard input and
// output of ssh. A message is sent in frames of at most 64 kB, so that an urgent message waits for
// one frame and not for a long message. Each direction begins with a magic number. What precedes it
// is skipped: a login shell may print text.
//
//   offset  bytes
//        0  4      length of the payload
//        4  4      channel
//        8  1      1: the last frame of its message
//        9  ...    payload
//      ...  1      line feed, because srun passes output on line by line
//
// All numbers are little-endian. Used by one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace trainyard::session {

struct ChannelMessage {
  std::uint32_t channel = 0;
  std::string bytes;
};

class FrameStream {
 public:
  static constexpr std::string_view kMagic{"\0TYAGENT", 8};
  static constexpr std::size_t kHeaderBytes = 9, kMaxFrameBytes = std::size_t{64} << 10;
  // Limits of what a peer may send: text before the magic number, and one message.
  static constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10,
                               kMaxMessageBytes = std::size_t{16} << 20;
  // Limit of messages that are only partly received, one per channel.
  static constexpr std::size_t kMaxChannels = 4096;

  // Takes two open descriptors, closes them at the end, and makes them nonblocking. `peer` is the
  // `where` of problems. The two may be equal (a socket).
  FrameStream(int input, int output, std::string peer);
  ~FrameStream();
  FrameStream(const FrameStream&) = delete;
  FrameStream& operator=(const FrameStream&) = delete;

  int input() const { return input_; }
  int output() const { return output_; }

  // Queues a message. Urgent messages precede all others, from the next frame on. Messages of one
  // channel arrive in order if they are all urgent or all not.
  void send(std::uint32_t channel, std::string bytes, bool urgent = false);
  // Writes as much as the descriptor accepts without waiting.
  base::Result<void> write();
  bool has_output() const { return !unwritten_.empty() || !urgent_.empty() || !normal_.empty(); }
  // True if messages of this channel are queued, entirely or in part.
  bool is_queued(std::uint32_t channel) const;
  // Number of bytes that are queued and not written yet.
  std::size_t queued_bytes() const { return queued_bytes_; }
  // Numbers of bytes of all frames that were made so far, and that arrived. If the peer states what
  // arrived, the difference is what is on the way.
  std::uint64_t made_bytes() const { return made_bytes_; }
  std::uint64_t arrived_bytes() const { return arrived_bytes_; }

  // Reads as much as is available without waiting. Fails if the peer closed its end
  // ("end_of_stream") or sent anything but frames.
  base::Result<void> read();
  // Returns the next complete message; nothing if there is none.
  std::optional<ChannelMessage> take();
  // True after the peer's magic number.
  bool has_begun() const { return begun_; }
  // Returns the text that the peer printed before its magic number.
  const std::string& text() const { return text_; }

 private:
  struct Outgoing {
    std::uint32_t channel = 0;
    std::string bytes;
    std::size_t sent = 0;
  };
  base::Problem problem(const char* id, const std::string& what) const;
  void fill();
  base::Result<void> begin();
  base::Result<void> parse();

  int input_, output_;
  std::string peer_;
  std::deque<Outgoing> urgent_, normal_;
  std::string unwritten_;  // frames, or the rest of one
  std::size_t queued_bytes_ = 0;
  std::uint64_t made_bytes_ = 0, arrived_bytes_ = 0;
  std::string received_, text_;
  bool begun_ = false;
  std::map<std::uint32_t, std::string> partial_;  // by channel
  std::deque<ChannelMessage> complete_;
};

}  // namespace trainyard::session
