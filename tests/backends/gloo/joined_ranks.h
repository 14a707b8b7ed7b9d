// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks that are threads of this process, joined by Gloo.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "backends/gloo/gloo.h"

namespace trainyard::gloo {

using Ranks = std::vector<std::unique_ptr<comm::Collectives>>;

inline void in_threads(int count, const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
}

inline Ranks joined(int count, const std::vector<std::vector<int>>& groups) {
  std::vector<std::unique_ptr<comm::BoundCollectives>> bound;
  std::vector<std::string> endpoints;
  for (int rank = 0; rank < count; ++rank) {
    Options options;
    options.rank = rank;
    options.groups = groups;
    bound.push_back(bind(options).value());
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

inline Ranks joined(int count) {
  std::vector<int> everyone(static_cast<std::size_t>(count));
  for (int rank = 0; rank < count; ++rank) everyone[static_cast<std::size_t>(rank)] = rank;
  return joined(count, {everyone});
}

// Until so many calls of the group are complete, or the engine fails.
inline base::Result<void> wait_for(comm::Collectives& engine, int group, std::uint64_t count) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < end) {
    const auto completed = engine.completed(group);
    if (!completed) return base::fail(completed.error());
    if (*completed >= count) return {};
    engine.wait(std::chrono::milliseconds(2));
  }
  return base::fail({base::ProblemCode::failed, "test", "waited for a minute", "", ""});
}

}  // namespace trainyard::gloo
