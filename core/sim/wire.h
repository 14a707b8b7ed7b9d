// SPDX-License-Identifier: GPL-3.0-or-later
// Messages between ranks. A message is routed over the drawing, shares the links with other
// messages, and waits at the receiver until it is consumed. Messages with the same sender, receiver
// and channel stay in order.
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/sim/links.h"
#include "core/sim/rank_model.h"

namespace trainyard::sim {

struct Message {
  int from = 0, to = 0;
  const OpModel* op = nullptr;  // op that sends the message
  std::int64_t step = 0;
  Picoseconds posted = 0;
  const Path* path = nullptr;
  bool arrived = false, consumed = false;
};

struct Traffic {
  std::int64_t sent = 0, received = 0;  // payload of consumed messages
};

// Payload bytes sent.
struct Sent {
  std::map<std::pair<int, int>, std::int64_t> first_step;  // by sender and receiver
  std::vector<std::int64_t> first_step_ways;               // by direction of an edge
  std::vector<std::int64_t> by_step;                       // bytes sent in each training step
  std::int64_t first_average = 0, first_evaluation = 0;
  std::int64_t start = 0;  // bytes sent before the first step
};

class Wire {
 public:
  Wire(const topology::Network& network, int ranks);

  // Returns the path between two ranks. Fails if there is no route.
  base::Result<const Path*> path(int from, int to);

  // Returns the number of the lane for messages between two ranks on a channel.
  int lane(int from, int to, int channel);

  // Sends a message and returns its id. The message belongs to a training step, to program "start"
  // before the first step, or to the evaluation after a step. The path must have been requested
  // with `path` before.
  int send(int from, const OpModel& op, std::int64_t step, plan::Purpose purpose, Picoseconds now);
  std::vector<int> take_posted() {
    return std::exchange(posted_, {});
  }  // messages sent since the last call
  Picoseconds next_end(Picoseconds now) { return links_.next_end(now); }
  std::vector<int> take_sent(Picoseconds now) {
    return links_.take_ended(now);
  }  // messages whose last bit was sent by `now`; they arrive one latency later

  Picoseconds latency(int from, int to) const { return paths_.at(pair_key(from, to)).latency; }

  void arrive(int message) { at(message).arrived = true; }
  // Returns the receiver's next message on a lane if it has arrived, else -1.
  int oldest(int lane) const;
  void consume(int number);
  // Frees the id of a message. Called after the sender has learned that the message was consumed.
  void forget(int message) { free_.push_back(message); }

  const Message& message(int number) const { return at(number); }
  const std::map<int, Traffic>& traffic(int rank) const {
    return traffic_[static_cast<std::size_t>(rank)];
  }
  const Links& links() const { return links_; }
  const Sent& sent() const { return sent_; }

 private:
  Message& at(int number) { return messages_[static_cast<std::size_t>(number)]; }
  const Message& at(int number) const { return messages_[static_cast<std::size_t>(number)]; }
  int take_number();
  void count(const Message& message, const Path& path, plan::Purpose purpose);

  const topology::Network& network_;
  std::vector<topology::DeviceId> ranks_;
  Links links_;
  // Number of a pair of ranks, and of a lane between them.
  std::uint64_t pair_key(int from, int to) const {
    return static_cast<std::uint64_t>(from) * ranks_.size() + static_cast<std::uint64_t>(to);
  }
  std::unordered_map<std::uint64_t, Path> paths_;
  std::vector<Message> messages_;
  std::vector<int> free_, posted_;
  Sent sent_;
  // First step after which ranks average parameters, and first step after which they evaluate; -1
  // if there is none.
  std::int64_t averaged_step_ = -1, evaluated_step_ = -1;
  // Messages of a lane, in order: those before `first` are consumed.
  struct Lane {
    std::vector<int> messages;
    std::size_t first = 0;
    const Path* path = nullptr;  // set by the first message
  };
  std::unordered_map<std::uint64_t, int> lane_numbers_;
  std::vector<Lane> lanes_;
  std::vector<std::map<int, Traffic>> traffic_;  // by rank, by peer
};

}  // namespace trainyard::sim
