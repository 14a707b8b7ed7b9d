// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are threads of this process, joined by an engine.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "core/comm/collectives.h"

namespace trainyard::comm {

using Ranks = std::vector<std::unique_ptr<Collectives>>;

inline void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

inline std::vector<int> everyone(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) ranks[static_cast<std::size_t>(rank)] = rank;
  return ranks;
}

template <class Bind>
Ranks joined_by(int count, const Bind& bind) {
  std::vector<std::unique_ptr<BoundCollectives>> bound;
  std::vector<std::string> endpoints;
  for (int rank = 0; rank < count; ++rank) {
    bound.push_back(bind(rank).value());
    endpoints.push_back(bound.back()->endpoint());
  }
  Ranks ranks(static_cast<std::size_t>(count));
  in_threads(count, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    auto made = bound[r]->connect(endpoints);
    if (made) ranks[r] = std::move(*made);
    else ADD_FAILURE() << base::to_string(made.error());
  });
  return ranks;
}

// Waits until `count` calls of the group are complete, or the engine fails.
inline base::Result<void> wait_for(Collectives& engine, int group, std::uint64_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    const auto completed = engine.completed(group);
    if (!completed) return base::fail(completed.error());
    if (*completed >= count) return {};
    engine.wait(std::chrono::milliseconds(2));
  }
  return base::fail(
      {"made_by_test", base::ProblemCode::failed, "test", "waited for a minute", "", ""});
}

}  // namespace trainyard::comm
