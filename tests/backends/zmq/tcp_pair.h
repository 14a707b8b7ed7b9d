// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "backends/zmq/transport.h"

namespace trainyard::conformance {

// Ranks over TCP, on ports that the system chose, connected with each other.
inline std::vector<std::unique_ptr<zmq::Transport>> tcp_ends(
    int ranks, const zmq::TransportOptions& options = {}) {
  std::vector<std::unique_ptr<zmq::Bound>> bound;
  std::vector<std::string> endpoints;
  for (int rank = 0; rank < ranks; ++rank) {
    auto one = zmq::bind(rank, ranks, 1, "tcp://127.0.0.1:*", options);
    EXPECT_TRUE(one) << to_string(one.error());
    bound.push_back(std::move(*one));
    endpoints.push_back(bound.back()->endpoint());
  }
  std::vector<std::unique_ptr<zmq::Transport>> ends;
  for (const auto& one : bound) ends.push_back(std::move(*one->connect(endpoints)));
  for (const auto& end : ends)
    for (int looks = 0; !end->connected() && looks < 20'000; ++looks)
      end->wait(std::chrono::milliseconds(1));
  return ends;
}
inline std::vector<std::unique_ptr<zmq::Transport>> tcp_pair(
    const zmq::TransportOptions& options = {}) {
  return tcp_ends(2, options);
}

}  // namespace trainyard::conformance
