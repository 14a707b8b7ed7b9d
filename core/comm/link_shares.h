// SPDX-License-Identifier: GPL-3.0-or-later
// Bandwidth shares on the drawn links. This class only computes: it reads no clock and never waits.
// The caller passes the time.
//
// A lane (from, to, channel) sends its messages in order. Lanes with data to send share each
// directed link (a direction of an edge) max-min fairly (Bertsekas and Gallager, Data Networks,
// 6.5.2). All rates grow together until a directed link is full; the lanes on it keep that rate,
// and the others continue to grow. Rates change only when a message starts or its last bit is sent.
// The events between two calls therefore follow from the state, and the next caller computes them.
// The result does not depend on which caller does this, or when.
//
// A message arrives one latency after its last bit was sent. Bandwidth is shared by bits, not by
// messages. So a long message does not block a short one on another lane; fair sharing alone
// determines the delay. The receiver sees a message only when it is complete.
//
// All times and rates are integers, as in core/sim/links, so that this class and the simulator
// compute the same times to the picosecond.
//
// All state is in one block of memory, which may be mapped at any address, so that processes can
// share it. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/comm/drawn_links.h"

namespace trainyard::comm {

using Picoseconds = std::int64_t;  // time since an arbitrary origin

struct LaneName {
  int from = 0, to = 0, channel = 0;
};

class LinkShares {
 public:
  // maximum number of messages posted and not released; every transport has this capacity per
  // channel
  static constexpr std::uint64_t kLaneMessages = 16;
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  // returns the size of the memory needed, a multiple of 64
  static std::size_t bytes(const DrawnLinks& drawn, int channels);
  // Initializes `memory`, which must be zeroed and aligned to 64 bytes.
  static LinkShares format(std::span<std::byte> memory, const DrawnLinks& drawn, int channels);
  // Uses memory that `format` initialized.
  explicit LinkShares(std::byte* memory);
  std::size_t bytes() const;

  int ranks() const;
  int channels() const;

  // Advances the time to `now`. Time never goes back: an earlier time counts as the latest one
  // given.
  void advance(Picoseconds now);
  bool has_room(const LaneName& lane) const;
  void post(const LaneName& lane, std::uint64_t message_bytes, Picoseconds now);

  struct MessageState {
    bool posted = false;   // the lane has a message that is not released
    bool arrived = false;  // the last bit of the oldest message has arrived
    // Set if the message has not arrived: earliest time at which it may arrive, unless another
    // message is posted before that time.
    Picoseconds next_check = 0;
  };
  MessageState oldest(const LaneName& lane, Picoseconds now);
  void release(const LaneName& lane) { at(lane).released += 1; }
  void forget(const LaneName& lane, Picoseconds now);  // drops all messages posted on the lane

  // Repairs the state after a process died while it changed the state, so that some of its stores
  // may be missing. Messages that were posted and not released are kept. Messages that were being
  // sent are sent again from the start.
  void repair(Picoseconds now);

  // Sets the capacity of a directed link to a fraction (0 to 1) of its initial value. At 0,
  // messages wait.
  void set_fraction(DirectedLink way, double part, Picoseconds now);
  int ways() const { return shape().ways; }

 private:
  // Amount of data, in units of what one unit of rate sends in one picosecond: a bit is 1e12 *
  // kRateUnit units.
  __extension__ using Amount = __int128;
  static constexpr std::int64_t kRateUnit = 512;  // rates are in units of 1/512 bit/s

  struct Shape {
    std::int32_t ranks = 0, channels = 0, ways = 0, hops = 0, longest = 0;
    std::int32_t sending = 0;  // number of sending lanes
    Picoseconds now = 0;
  };
  struct DirectedLinkState {
    std::int64_t drawn = 0, capacity = 0;  // `drawn`: initial rate; `capacity`: current rate
    // Temporary variables of the function `share`.
    std::int64_t left = 0, shares = 0;  // `shares`: sum over lanes without a rate
    std::int32_t sharers = 0, first = 0, count = 0, reserved = 0;
  };
  struct RouteState {
    std::int32_t first = 0, count = 0;  // range of the route in `hops_`
    Picoseconds latency = 0;
    // maximum rate of the route: minimum over its hops of initial rate / share
    std::int64_t narrowest = 0;
  };
  struct LaneState {
    Amount remaining = 0;  // unsent part, at time `since`, of the message that is being sent
    std::int64_t rate = 0;
    Picoseconds since = 0, ends = 0;
    std::uint64_t posted = 0, sent = 0, released = 0;
    std::int32_t route = 0;
    std::int32_t open = 0;  // variable of `share`, valid only during a call
    std::array<std::uint64_t, kLaneMessages> sizes{};
    std::array<Picoseconds, kLaneMessages> sent_at{};
  };
  struct Offsets {
    std::size_t ways, routes, hops, lanes, sending, used, members, end;
  };
  static Shape shape_of(const DrawnLinks& drawn, int channels);
  static Offsets offsets(const Shape& shape);

  template <class T>
  T* part(std::size_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }
  Shape& shape() const { return *part<Shape>(0); }
  LaneState& at(const LaneName& lane) const;
  LaneState& sending(int i) const { return lanes_[sending_[i]]; }
  std::span<const DrawnHop> path(const LaneState& lane) const;

  bool take_next(LaneState& lane, Picoseconds now);
  Picoseconds next_end() const;
  void end_at(Picoseconds time);
  void share(Picoseconds now);
  int collect_ways();
  DirectedLink narrowest(int used, std::int64_t& rate) const;
  void settle(LaneState& lane, std::int64_t rate, Picoseconds now);
  static void set_rate(LaneState& lane, std::int64_t rate, Picoseconds now);

  std::byte* memory_;
  DirectedLinkState* ways_;
  RouteState* routes_;
  DrawnHop* hops_;
  LaneState* lanes_;
  // `sending_`: list of lanes that send. `used_`: list of directed links on their routes.
  // `members_`: lanes of each of these links
  std::int32_t *sending_, *used_, *members_;
};

}  // namespace trainyard::comm
