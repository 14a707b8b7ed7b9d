// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/wire.h"

namespace trainyard::sim {

Wire::Wire(const topology::Network& network, int ranks)
    : network_(network),
      ranks_(network.ranks()),
      links_(network),
      traffic_(static_cast<std::size_t>(ranks)) {
  sent_.first_step_ways.resize(static_cast<std::size_t>(links_.ways()));
}

base::Result<const Path*> Wire::path(int from, int to) {
  const auto known = paths_.find(pair_key(from, to));
  if (known != paths_.end()) return &known->second;
  const auto route =
      network_.route(ranks_[static_cast<std::size_t>(from)], ranks_[static_cast<std::size_t>(to)]);
  if (!route) return base::fail(route.error());
  return &paths_.emplace(pair_key(from, to), Path(*route)).first->second;
}

int Wire::take_number() {
  if (free_.empty()) {
    messages_.emplace_back();
    return static_cast<int>(messages_.size()) - 1;
  }
  const int number = free_.back();
  free_.pop_back();
  return number;
}

int Wire::send(int from, const OpModel& op, std::int64_t step, plan::Purpose purpose,
               Picoseconds now) {
  const int number = take_number(), to = op.peers.front();
  Lane& lane = lanes_[static_cast<std::size_t>(op.first_lane)];
  if (lane.path == nullptr) lane.path = &paths_.at(pair_key(from, to));
  const Path& path = *lane.path;
  at(number) = {from, to, &op, step, now, &path};
  lane.messages.push_back(number);
  links_.start(number, op.first_lane, path, op.bytes, now);
  count(at(number), path, purpose);
  posted_.push_back(number);
  return number;
}

void Wire::count(const Message& message, const Path& path, plan::Purpose purpose) {
  const std::int64_t bytes = message.op->bytes;
  if (purpose == plan::Purpose::start) return void(sent_.start += bytes);
  if (purpose == plan::Purpose::average) {
    if (averaged_step_ < 0) averaged_step_ = message.step;
    if (averaged_step_ == message.step) sent_.first_average += bytes;
    return;
  }
  if (purpose == plan::Purpose::evaluation) {
    if (evaluated_step_ < 0) evaluated_step_ = message.step;
    if (evaluated_step_ == message.step) sent_.first_evaluation += bytes;
    return;
  }
  const auto step = static_cast<std::size_t>(message.step);
  if (sent_.by_step.size() <= step) sent_.by_step.resize(step + 1);
  sent_.by_step[step] += bytes;
  if (step > 0) return;
  sent_.first_step[{message.from, message.to}] += bytes;
  path.for_each_way(bytes, [&](DirectedLink way, std::int64_t part) {
    sent_.first_step_ways[static_cast<std::size_t>(way)] += part;
  });
}

int Wire::lane(int from, int to, int channel) {
  const std::uint64_t key =
      static_cast<std::uint64_t>(channel) * ranks_.size() * ranks_.size() + pair_key(from, to);
  const auto [at, is_new] = lane_numbers_.try_emplace(key, static_cast<int>(lanes_.size()));
  if (is_new) lanes_.emplace_back();
  return at->second;
}

int Wire::oldest(int lane) const {
  const Lane& known = lanes_[static_cast<std::size_t>(lane)];
  if (known.first == known.messages.size()) return -1;
  const int number = known.messages[known.first];
  return at(number).arrived ? number : -1;
}

void Wire::consume(int number) {
  Message& message = at(number);
  message.consumed = true;
  Lane& lane = lanes_[static_cast<std::size_t>(message.op->first_lane)];
  if (++lane.first == lane.messages.size()) lane.messages.clear(), lane.first = 0;
  traffic_[static_cast<std::size_t>(message.from)][message.to].sent += message.op->bytes;
  traffic_[static_cast<std::size_t>(message.to)][message.from].received += message.op->bytes;
}

}  // namespace trainyard::sim
