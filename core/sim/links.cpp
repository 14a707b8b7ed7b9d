// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/links.h"

namespace trainyard::sim {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Links::Links(const topology::Network& network) {
  for (const topology::Edge& edge : network.edges()) {
    DirectedLinkState state;
    state.capacity = std::llround(edge.bandwidth_bits_per_second * static_cast<double>(kRateUnit));
    ways_.push_back(state);
    ways_.push_back(state);
  }
  left_.resize(ways_.size());
  shares_.resize(ways_.size());
  seen_way_.resize(ways_.size(), false);
}

void Links::change(DirectedLink way) {
  if (ways_[at(way)].changed) return;
  ways_[at(way)].changed = true;
  changed_.push_back(way);
}

void Links::start(int transfer, int lane, const Path& path, std::int64_t bytes, Picoseconds now) {
  if (transfers_.size() <= at(transfer)) {
    transfers_.resize(at(transfer) + 1);
    open_.resize(transfers_.size(), false);
  }
  if (lanes_.size() <= at(lane)) lanes_.resize(at(lane) + 1);
  Transfer& started = transfers_[at(transfer)] = {};
  started.path = &path, started.lane = lane, started.bytes = bytes;
  lanes_[at(lane)].push_back(transfer);
  if (lanes_[at(lane)].size() == 1) begin(transfer, now);
}

void Links::begin(int number, Picoseconds now) {
  Transfer& transfer = transfers_[at(number)];
  transfer.remaining = static_cast<Amount>(transfer.bytes) * 8 * kSecond * kRateUnit;
  transfer.since = now;
  transfer.active = true;
  transfer.path->for_each_way(transfer.bytes, [&](DirectedLink way, std::int64_t part) {
    DirectedLinkState& state = ways_[at(way)];
    if (state.transfers.empty()) state.busy_since = now;
    state.transfers.push_back(number);
    state.bytes += part;
    change(way);
  });
}

bool Links::stale(const End& end) const {
  const Transfer& transfer = transfers_[at(std::get<1>(end))];
  return !transfer.active || transfer.ends != std::get<0>(end);
}

Picoseconds Links::next_end(Picoseconds now) {
  if (!changed_.empty()) recompute_shares(now);
  while (!ends_.empty() && stale(ends_.top())) ends_.pop();
  return ends_.empty() ? kNever : std::get<0>(ends_.top());
}

std::vector<int> Links::take_ended(Picoseconds now) {
  std::vector<int> ended;
  for (; !ends_.empty() && (stale(ends_.top()) || std::get<0>(ends_.top()) == now); ends_.pop()) {
    if (stale(ends_.top())) continue;
    const int number = std::get<1>(ends_.top());
    ended.push_back(number);
    transfers_[at(number)].active = false;
    for (const topology::Hop& hop : transfers_[at(number)].path->route.hops) {
      const DirectedLink way = sim::way(hop);
      DirectedLinkState& state = ways_[at(way)];
      state.transfers.erase(std::find(state.transfers.begin(), state.transfers.end(), number));
      if (state.transfers.empty()) state.busy += now - state.busy_since;
      change(way);
    }
  }
  for (const int number : ended) {
    std::deque<int>& lane = lanes_[at(transfers_[at(number)].lane)];
    lane.pop_front();
    if (!lane.empty()) begin(lane.front(), now);
  }
  return ended;
}

void Links::recompute_shares(Picoseconds now) {
  std::vector<int> transfers;
  const std::vector<DirectedLink> ways = affected_links(transfers);
  share(ways, transfers, now);
  for (const DirectedLink way : ways) seen_way_[at(way)] = false;
}

// Returns, in order, the directed links whose transfers changed, and all directed links that share
// a transfer with one of them, directly or through other directed links. The transfers on these
// links are marked, because their rates must be computed again.
std::vector<DirectedLink> Links::affected_links(std::vector<int>& transfers) {
  std::vector<DirectedLink> ways;
  const auto add = [&](DirectedLink way) {
    if (!seen_way_[at(way)]) ways.push_back(way);
    seen_way_[at(way)] = true;
  };
  for (const DirectedLink way : changed_) {
    ways_[at(way)].changed = false;
    add(way);
  }
  changed_.clear();
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (const int transfer : ways_[at(ways[i])].transfers) {
      if (open_[at(transfer)]) continue;
      open_[at(transfer)] = true;
      transfers.push_back(transfer);
      for (const topology::Hop& hop : transfers_[at(transfer)].path->route.hops) add(way(hop));
    }
  std::sort(ways.begin(), ways.end());
  return ways;
}

void Links::share(const std::vector<DirectedLink>& ways, const std::vector<int>& transfers,
                  Picoseconds now) {
  for (const DirectedLink way : ways)
    left_[at(way)] = ways_[at(way)].capacity, shares_[at(way)] = 0;
  for (const int transfer : transfers)
    for (const topology::Hop& hop : transfers_[at(transfer)].path->route.hops)
      shares_[at(way(hop))] += hop.share;
  for (std::size_t settled = 0; settled < transfers.size();) {
    DirectedLink narrowest = -1;
    std::int64_t rate = 0;
    for (const DirectedLink way : ways) {
      if (shares_[at(way)] == 0) continue;
      const std::int64_t offer = topology::full_rate(left_[at(way)], shares_[at(way)]);
      if (narrowest < 0 || offer < rate) narrowest = way, rate = offer;
    }
    for (const int transfer : ways_[at(narrowest)].transfers) {
      if (!open_[at(transfer)]) continue;
      open_[at(transfer)] = false;
      ++settled;
      set_rate(transfer, rate, now);
      for (const topology::Hop& hop : transfers_[at(transfer)].path->route.hops) {
        left_[at(way(hop))] -= topology::part_of(rate, hop.share);
        shares_[at(way(hop))] -= hop.share;
      }
    }
  }
}

void Links::set_rate(int number, std::int64_t rate, Picoseconds now) {
  Transfer& transfer = transfers_[at(number)];
  if (transfer.rate == rate) return;
  transfer.remaining -= static_cast<Amount>(transfer.rate) * (now - transfer.since);
  transfer.since = now;
  transfer.rate = rate;
  const Amount needs = (transfer.remaining + rate - 1) / rate;
  transfer.ends =
      now + (needs > kLongest ? kLongest : static_cast<Picoseconds>(std::max<Amount>(needs, 0)));
  ends_.emplace(transfer.ends, number);
}

}  // namespace trainyard::sim
