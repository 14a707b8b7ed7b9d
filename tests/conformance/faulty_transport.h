// SPDX-License-Identifier: GPL-3.0-or-later
// Transport with one fault: it drops, repeats or shortens the k-th message. Its users must detect
// that.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "tests/conformance/wrapped_transport.h"

namespace trainyard::conformance {

enum class Fault { drop, repeat, shorten };

class FaultyTransport final : public WrappedTransport {
 public:
  // `at` counts the messages posted by this rank, to all peers, from 0.
  FaultyTransport(std::unique_ptr<comm::Transport> inner, Fault fault, std::uint64_t at)
      : WrappedTransport(std::move(inner)), fault_(fault), at_(at) {}

  base::Result<bool> post(int peer, int channel, comm::Tag tag,
                          std::span<const std::byte> bytes) override {
    if (count_ != at_) return counted(inner().post(peer, channel, tag, bytes), peer, channel);
    if (fault_ == Fault::shorten)
      return counted(inner().post(peer, channel, tag, bytes.first(bytes.size() / 2)), peer,
                     channel);
    if (fault_ == Fault::drop) return drop(peer, channel);
    return repeat(peer, channel, tag, bytes);
  }

  // The sender sees the counts of a transport without fault.
  base::Result<std::uint64_t> consumed(int peer, int channel) override {
    const auto count = inner().consumed(peer, channel);
    if (!count || faulty_lane_ != std::pair(peer, channel) || *count < faulty_index_) return count;
    if (fault_ == Fault::drop) return *count + 1;
    return *count > faulty_index_ + 1 ? *count - 1 : *count;
  }

 private:
  base::Result<bool> counted(base::Result<bool> posted, int peer, int channel) {
    if (posted && *posted) ++count_, ++posted_[{peer, channel}];
    return posted;
  }
  base::Result<bool> drop(int peer, int channel) {
    ++count_;
    mark(peer, channel);
    return true;
  }
  // When the channel has no room for the second copy, the fault waits for a message that has room
  // for two.
  base::Result<bool> repeat(int peer, int channel, comm::Tag tag,
                            std::span<const std::byte> bytes) {
    const auto first = inner().post(peer, channel, tag, bytes);
    if (!first || !*first) return first;
    const auto second = inner().post(peer, channel, tag, bytes);
    if (second && *second) mark(peer, channel);
    else ++at_;
    return counted(true, peer, channel);
  }
  void mark(int peer, int channel) {
    faulty_lane_ = {peer, channel};
    faulty_index_ = posted_[{peer, channel}];
  }

  Fault fault_;
  std::uint64_t at_;
  std::uint64_t count_ = 0;
  std::map<std::pair<int, int>, std::uint64_t> posted_;  // by lane
  std::pair<int, int> faulty_lane_{-1, -1};
  std::uint64_t faulty_index_ = 0;
};

}  // namespace trainyard::conformance
