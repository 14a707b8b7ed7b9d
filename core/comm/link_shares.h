// SPDX-License-Identifier: GPL-3.0-or-later
// Who has which share of the drawn links, by arithmetic alone: no clock is read and nobody waits.
// Time is given by the caller.
//
// A lane (from, to, channel) carries its messages one after the other; the lanes that have bits to
// send share each way max-min fairly (Bertsekas and Gallager, Data Networks, 6.5.2): rates grow
// together until a way is full, those that cross it stay at that rate, the others go on. Rates
// change only when a message starts or its last bit is sent, so all that happens between two calls
// follows from the state: whoever comes next reckons it, and it makes no difference who, or how
// late.
//
// A message arrives when its last bit has crossed, a latency after it was sent. Shares are of bits,
// not of messages: a long message holds up a short one on another lane no longer than fairness
// allows, though the receiver sees each of them whole.
//
// Whole numbers, as in core/sim/links: both reckon the same times to the picosecond. They differ
// where a lane has several messages at once, as segments of a bucket have: there they share, here
// they queue.
//
// Everything lies in one piece of memory, at any address: ranks that are processes share it. Not
// for two threads at once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "core/comm/drawn_links.h"

namespace trainyard::comm {

using Picoseconds = std::int64_t;  // since some beginning

struct LaneName {
  int from = 0, to = 0, channel = 0;
};

class LinkShares {
 public:
  static constexpr std::uint64_t kLaneMessages =
      16;  // posted and not released: as many as a channel of any transport holds
  static constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

  static std::size_t bytes(const DrawnLinks& drawn, int channels);  // needed; a multiple of 64
  // In zeroed memory aligned to 64 bytes.
  static LinkShares format(std::span<std::byte> memory, const DrawnLinks& drawn, int channels);
  // Of memory that was formatted.
  explicit LinkShares(std::byte* memory);
  std::size_t bytes() const;

  int ranks() const;
  int channels() const;

  // Times never go back: an earlier one counts as the latest that was given.
  void advance(Picoseconds now);
  bool has_room(const LaneName& lane) const;
  void post(const LaneName& lane, std::uint64_t message_bytes, Picoseconds now);

  struct Sight {
    bool posted = false;         // there is a message that is not released
    bool arrived = false;        // and its last bit has come
    Picoseconds look_again = 0;  // if not: nothing comes before, unless more is posted
  };
  Sight oldest(const LaneName& lane, Picoseconds now);
  void release(const LaneName& lane) { at(lane).released += 1; }
  void forget(const LaneName& lane, Picoseconds now);  // all that is posted there

  // After whoever was changing something died in the midst of it: of each store it may have made it
  // or not. What was posted and not released is there still, and what was on its way begins its way
  // again.
  void mend(Picoseconds now);

  // From now on the way carries this part of what it was formatted with, 0 to 1. Of 0 nothing
  // crosses: what is there waits.
  void set_part(Way way, double part, Picoseconds now);
  int ways() const { return shape().ways; }

 private:
  __extension__ using Amount =
      __int128;  // bits times 1e12 times kRateUnit: what one unit of rate moves in one picosecond
  static constexpr std::int64_t kRateUnit = 512;  // rates count 1/512 bit/s

  struct Shape {
    std::int32_t ranks = 0, channels = 0, ways = 0, hops = 0, longest = 0;
    std::int32_t sending = 0;  // lanes
    Picoseconds now = 0;
  };
  struct WayState {
    std::int64_t drawn = 0, capacity = 0;  // rates; the latter as of now
    // Scratch of `share`.
    std::int64_t left = 0;
    std::int32_t sharers = 0, first = 0, count = 0, reserved = 0;
  };
  struct RouteState {
    std::int32_t first = 0, count = 0;  // in the hops
    Picoseconds latency = 0;
    std::int64_t narrowest = 0;  // rate that it could have alone, of ways as they are drawn
  };
  struct LaneState {
    Amount remaining = 0;  // of the message that is being sent, at `since`
    std::int64_t rate = 0;
    Picoseconds since = 0, ends = 0;
    std::uint64_t posted = 0, sent = 0, released = 0;
    std::int32_t route = 0;
    std::int32_t open = 0;  // scratch of `share`
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
  std::span<const std::int32_t> path(const LaneState& lane) const;

  bool take_next(LaneState& lane, Picoseconds now);
  Picoseconds next_end() const;
  void end_at(Picoseconds time);
  void share(Picoseconds now);
  int collect_ways();
  Way narrowest(int used, std::int64_t& rate) const;
  void settle(LaneState& lane, std::int64_t rate, Picoseconds now);
  static void set_rate(LaneState& lane, std::int64_t rate, Picoseconds now);

  std::byte* memory_;
  WayState* ways_;
  RouteState* routes_;
  std::int32_t* hops_;
  LaneState* lanes_;
  std::int32_t *sending_, *used_, *members_;  // lanes; ways; lanes by way
};

}  // namespace trainyard::comm
