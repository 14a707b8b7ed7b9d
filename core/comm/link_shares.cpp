// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/link_shares.h"

#include <algorithm>
#include <cmath>
#include <new>

namespace trainyard::comm {
namespace {

constexpr Picoseconds kSecond = 1'000'000'000'000;
// longest representable duration in picoseconds, 46 days; the sum of two such durations fits in 64
// bits
constexpr Picoseconds kLongest = 4'000'000'000'000'000'000;

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }
std::size_t count(std::int64_t n) { return static_cast<std::size_t>(n); }

Picoseconds picoseconds(double seconds) {
  const double whole = seconds * static_cast<double>(kSecond);
  return whole >= static_cast<double>(kLongest) ? kLongest : std::llround(whole);
}

}  // namespace

LinkShares::Offsets LinkShares::offsets(const Shape& shape) {
  const std::size_t pairs = count(shape.ranks) * count(shape.ranks),
                    lanes = pairs * count(shape.channels);
  Offsets at{};
  at.ways = aligned(sizeof(Shape));
  at.routes = at.ways + aligned(count(shape.ways) * sizeof(DirectedLinkState));
  at.hops = at.routes + aligned(pairs * sizeof(RouteState));
  at.lanes = at.hops + aligned(count(shape.hops) * sizeof(DrawnHop));
  at.sending = at.lanes + aligned(lanes * sizeof(LaneState));
  at.used = at.sending + aligned(lanes * sizeof(std::int32_t));
  at.members = at.used + aligned(count(shape.ways) * sizeof(std::int32_t));
  at.end = at.members + aligned(lanes * count(shape.longest) * sizeof(std::int32_t));
  return at;
}

LinkShares::LinkShares(std::byte* memory) : memory_(memory) {
  const Offsets at = offsets(shape());
  ways_ = part<DirectedLinkState>(at.ways);
  routes_ = part<RouteState>(at.routes);
  hops_ = part<DrawnHop>(at.hops);
  lanes_ = part<LaneState>(at.lanes);
  sending_ = part<std::int32_t>(at.sending);
  used_ = part<std::int32_t>(at.used);
  members_ = part<std::int32_t>(at.members);
}

LinkShares::Shape LinkShares::shape_of(const DrawnLinks& drawn, int channels) {
  Shape shape;
  shape.ranks = drawn.ranks;
  shape.channels = channels;
  shape.ways = static_cast<std::int32_t>(drawn.bits_per_second.size());
  for (const DrawnRoute& route : drawn.routes) {
    shape.hops += static_cast<std::int32_t>(route.hops.size());
    shape.longest = std::max(shape.longest, static_cast<std::int32_t>(route.hops.size()));
  }
  return shape;
}

std::size_t LinkShares::bytes(const DrawnLinks& drawn, int channels) {
  return offsets(shape_of(drawn, channels)).end;
}

// Writes only the memory that is needed at first. The memory of a lane is written when the lane is
// first used, so that memory that is reserved lazily is committed only for used lanes.
LinkShares LinkShares::format(std::span<std::byte> memory, const DrawnLinks& drawn, int channels) {
  new (memory.data()) Shape(shape_of(drawn, channels));
  LinkShares shares(memory.data());
  for (std::size_t way = 0; way < drawn.bits_per_second.size(); ++way)
    shares.ways_[way].drawn = shares.ways_[way].capacity =
        std::llround(drawn.bits_per_second[way] * static_cast<double>(kRateUnit));
  std::int32_t hop = 0;
  for (std::size_t pair = 0; pair < drawn.routes.size(); ++pair) {
    const DrawnRoute& from = drawn.routes[pair];
    RouteState& route = shares.routes_[pair];
    route = {hop, static_cast<std::int32_t>(from.hops.size()), picoseconds(from.latency_seconds),
             std::numeric_limits<std::int64_t>::max()};
    for (const DrawnHop& drawn_hop : from.hops) {
      shares.hops_[hop++] = drawn_hop;
      route.narrowest =
          std::min(route.narrowest,
                   topology::full_rate(shares.ways_[drawn_hop.way].capacity, drawn_hop.share));
    }
  }
  return shares;
}

std::size_t LinkShares::bytes() const { return offsets(shape()).end; }
int LinkShares::ranks() const { return shape().ranks; }
int LinkShares::channels() const { return shape().channels; }

LinkShares::LaneState& LinkShares::at(const LaneName& lane) const {
  const int pair = lane.from * shape().ranks + lane.to;
  LaneState& state = lanes_[pair * shape().channels + lane.channel];
  state.route = pair;
  return state;
}

std::span<const DrawnHop> LinkShares::path(const LaneState& lane) const {
  const RouteState& route = routes_[lane.route];
  return {hops_ + route.first, count(route.count)};
}

bool LinkShares::has_room(const LaneName& lane) const {
  const LaneState& state = at(lane);
  return state.posted - state.released < kLaneMessages;
}

void LinkShares::post(const LaneName& lane, std::uint64_t message_bytes, Picoseconds now) {
  advance(now);
  LaneState& state = at(lane);
  const bool idle = state.posted == state.sent;
  state.sizes[state.posted++ % kLaneMessages] = message_bytes;
  if (!idle || !take_next(state, shape().now)) return;
  sending_[shape().sending++] = static_cast<std::int32_t>(&state - lanes_);
  share(shape().now);
}

// Starts the next message of a lane; returns false if there is none. A message of zero bytes is
// complete immediately, so the message after it is started too.
bool LinkShares::take_next(LaneState& lane, Picoseconds now) {
  for (; lane.sent < lane.posted; ++lane.sent) {
    const std::uint64_t bytes = lane.sizes[lane.sent % kLaneMessages];
    lane.remaining = static_cast<Amount>(bytes) * 8 * kSecond * kRateUnit;
    lane.rate = 0;
    lane.since = now;
    lane.ends = kNever;
    if (bytes > 0) return true;
    lane.sent_at[lane.sent % kLaneMessages] = now;
  }
  return false;
}

Picoseconds LinkShares::next_end() const {
  Picoseconds first = kNever;
  for (int i = 0; i < shape().sending; ++i) first = std::min(first, sending(i).ends);
  return first;
}

void LinkShares::advance(Picoseconds now) {
  for (Picoseconds end = next_end(); end <= now; end = next_end()) end_at(end);
  shape().now = std::max(shape().now, now);
}

void LinkShares::end_at(Picoseconds time) {
  int kept = 0;
  for (int i = 0; i < shape().sending; ++i) {
    LaneState& lane = sending(i);
    bool goes_on = true;
    if (lane.ends == time) {
      lane.sent_at[lane.sent++ % kLaneMessages] = time;
      goes_on = take_next(lane, time);
    }
    if (goes_on) sending_[kept++] = sending_[i];
  }
  shape().sending = kept;
  share(time);
}

void LinkShares::forget(const LaneName& name, Picoseconds now) {
  advance(now);
  LaneState& lane = at(name);
  lane.sent = lane.released = lane.posted;
  std::int32_t* const end = sending_ + shape().sending;
  shape().sending = static_cast<std::int32_t>(
      std::remove(sending_, end, static_cast<std::int32_t>(&lane - lanes_)) - sending_);
  share(shape().now);
}

// Recomputes all other state from the counters of the lanes. The counters are consistent even after
// a crash, because each of them changes by a single store.
void LinkShares::repair(Picoseconds now) {
  Shape& all = shape();
  all.now = std::max(all.now, now);
  all.sending = 0;
  for (std::int32_t way = 0; way < all.ways; ++way) ways_[way].sharers = 0;
  const std::int32_t lanes = all.ranks * all.ranks * all.channels;
  for (std::int32_t i = 0; i < lanes; ++i) {
    LaneState& lane = lanes_[i];
    if (lane.posted == 0) continue;  // the lane was never used
    lane.route = i / all.channels;
    lane.sent = std::clamp(lane.sent, lane.released, lane.posted);
    if (take_next(lane, all.now)) sending_[all.sending++] = i;
  }
  share(all.now);
}

// Sets the capacity of a directed link. A fraction of 0 becomes the lowest possible rate, at which
// one byte takes an hour.
void LinkShares::set_fraction(DirectedLink number, double part, Picoseconds now) {
  advance(now);
  DirectedLinkState& way = ways_[number];
  way.capacity = std::max<std::int64_t>(std::llround(static_cast<double>(way.drawn) * part), 1);
  share(shape().now);
}

LinkShares::MessageState LinkShares::oldest(const LaneName& name, Picoseconds now) {
  advance(now);
  now = shape().now;
  const LaneState& lane = at(name);
  if (lane.released == lane.posted) return {};
  const RouteState& route = routes_[lane.route];
  if (lane.released < lane.sent) {
    const Picoseconds arrives = lane.sent_at[lane.released % kLaneMessages] + route.latency;
    return {true, arrives <= now, arrives};
  }
  // Estimates the earliest arrival of a message that is not fully sent yet. Its rate may change
  // when any message ends, but never exceeds the rate on a route without other lanes.
  const Amount left = lane.remaining - static_cast<Amount>(lane.rate) * (now - lane.since);
  const Amount alone = std::clamp<Amount>(left / route.narrowest, 0, kLongest);
  return {true, false, std::max(next_end(), now + static_cast<Picoseconds>(alone)) + route.latency};
}

void LinkShares::share(Picoseconds now) {
  const int used = collect_ways();
  for (int settled = 0; settled < shape().sending;) {
    std::int64_t rate = 0;
    const DirectedLinkState& way = ways_[narrowest(used, rate)];
    for (int i = way.first; i < way.first + way.count; ++i) {
      LaneState& lane = lanes_[members_[i]];
      if (lane.open == 0) continue;
      settle(lane, rate, now);
      ++settled;
    }
  }
}

// Collects the directed links on the routes of sending lanes, each with its lanes. Returns the
// number of these links.
int LinkShares::collect_ways() {
  int used = 0;
  for (int i = 0; i < shape().sending; ++i)
    for (const DrawnHop& hop : path(sending(i)))
      if (ways_[hop.way].sharers++ == 0) used_[used++] = hop.way;
  std::int32_t first = 0;
  for (int u = 0; u < used; ++u) {
    DirectedLinkState& way = ways_[used_[u]];
    way.left = way.capacity;
    way.shares = 0;
    way.first = first;
    way.count = 0;
    first += way.sharers;
  }
  for (int i = 0; i < shape().sending; ++i) {
    sending(i).open = 1;
    for (const DrawnHop& hop : path(sending(i))) {
      DirectedLinkState& way = ways_[hop.way];
      members_[way.first + way.count++] = sending_[i];
      way.shares += hop.share;
    }
  }
  return used;
}

// Returns the directed link on which each lane gets the lowest rate. Of several such links, returns
// the link with the lowest number, as the simulator does.
DirectedLink LinkShares::narrowest(int used, std::int64_t& rate) const {
  DirectedLink found = -1;
  for (int u = 0; u < used; ++u) {
    const DirectedLinkState& way = ways_[used_[u]];
    if (way.sharers == 0) continue;
    const std::int64_t offer = topology::full_rate(way.left, way.shares);
    if (found >= 0 && (offer > rate || (offer == rate && used_[u] > found))) continue;
    found = used_[u];
    rate = offer;
  }
  return found;
}

void LinkShares::settle(LaneState& lane, std::int64_t rate, Picoseconds now) {
  lane.open = 0;
  set_rate(lane, rate, now);
  for (const DrawnHop& hop : path(lane)) {
    DirectedLinkState& way = ways_[hop.way];
    way.left -= topology::part_of(rate, hop.share);
    way.shares -= hop.share;
    --way.sharers;
  }
}

void LinkShares::set_rate(LaneState& lane, std::int64_t rate, Picoseconds now) {
  if (lane.rate == rate) return;
  lane.remaining -= static_cast<Amount>(lane.rate) * (now - lane.since);
  lane.since = now;
  lane.rate = rate;
  const Amount needs = (lane.remaining + rate - 1) / rate;
  lane.ends = now + static_cast<Picoseconds>(std::clamp<Amount>(needs, 0, kLongest));
}

}  // namespace trainyard::comm
