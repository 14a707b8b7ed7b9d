// SPDX-License-Identifier: GPL-3.0-or-later
// State of a rank's lanes. A lane is a peer, a channel and a direction. At most `kWindowMessages`
// messages of a lane are in flight or unread. So a slow reader delays its writer, instead of
// filling the host's memory.
#pragma once

#include <array>
#include <cstdint>
#include <zmq.hpp>

#include "core/comm/lane_counters.h"
#include "core/comm/transport.h"

namespace trainyard::zmq {

constexpr std::uint64_t kWindowMessages = 16;

struct OutLane {
  std::uint64_t posted = 0;
  std::uint64_t consumed = 0;
  std::uint64_t bytes_in_flight = 0;
  // Sizes in bytes of the messages in flight, by sequence number modulo kWindowMessages.
  std::array<std::uint64_t, kWindowMessages> sizes{};
  comm::LaneCounters counters;

  bool has_room(std::uint64_t bytes, std::uint64_t window_bytes) const {
    return posted == consumed ||
           (posted - consumed < kWindowMessages && bytes_in_flight + bytes <= window_bytes);
  }
  void add(std::uint64_t bytes) {
    sizes[posted++ % kWindowMessages] = bytes;
    bytes_in_flight += bytes;
  }
  // Sets the number of messages that the peer has consumed. Returns false if `count` is less than
  // before, or more than were posted.
  bool set_consumed(std::uint64_t count) {
    if (count < consumed || count > posted) return false;
    while (consumed < count) bytes_in_flight -= sizes[consumed++ % kWindowMessages];
    return true;
  }
  void reset() { posted = consumed = bytes_in_flight = 0; }
};

struct InLane {
  struct Slot {
    comm::Tag tag;
    ::zmq::message_t payload;
  };
  std::uint64_t arrived = 0;
  std::uint64_t released = 0;
  std::uint64_t acknowledged = 0;  // the last value of `released` sent to the peer
  std::array<Slot, kWindowMessages> slots;
  comm::LaneCounters counters;

  bool empty() const { return arrived == released; }
  bool full() const { return arrived - released == kWindowMessages; }
  Slot& oldest() { return slots[released % kWindowMessages]; }
  void release() { slots[released++ % kWindowMessages].payload = ::zmq::message_t(); }
  void reset() {
    while (!empty()) release();
    arrived = released = acknowledged = 0;
  }
};

}  // namespace trainyard::zmq
