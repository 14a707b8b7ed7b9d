// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backends/zmq/sockets_with_memory.h"
#include "tests/conformance/asynchronous_gossip_training.h"
#include "tests/conformance/count_allocations.h"
#include "tests/conformance/every_collective.h"
#include "tests/conformance/gossip_training.h"
#include "tests/conformance/local_sgd_training.h"
#include "tests/conformance/synchronized_training.h"
#include "tests/conformance/vertical_training.h"

namespace trainyard::tests {
namespace {

// A socket that takes up a connection may allocate, at a moment of its own; a loop that did would
// do so in each of 198 steps more.
TEST(ZmqTraining, allocates_nothing_in_later_steps) {
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct}) {
    std::deque<Lines> memory;
    experiment::Experiment e = small(3, 24);
    e.strategy.algorithm = algorithm;
    const auto transports = [&](int ranks, std::size_t arena_bytes) {
      return over_sockets(ranks, arena_bytes, memory);
    };
    EXPECT_THAT(allocated_by_more_steps(e, transports), testing::Each(testing::Lt(100)))
        << base::name_of(algorithm);
  }
}

TEST(ZmqTraining, with_synchronized_batch_normalization_equals_one_device) {
  for (const int ranks : {2, 4}) {
    std::deque<Lines> memory;
    expect_images_equal_one_device(ranks, [&](int n, std::size_t arena_bytes) {
      return over_sockets(n, arena_bytes, memory);
    });
  }
}

TEST(ZmqTraining, by_feature_columns_equals_one_device) {
  for (const int ranks : {2, 3, 4}) {
    std::deque<Lines> memory;
    expect_columns_equal_one_device(ranks, [&](int n, std::size_t arena_bytes) {
      return over_sockets(n, arena_bytes, memory);
    });
  }
}

TEST(ZmqTraining, by_gossip_keeps_the_mean_and_converges_and_sends_to_neighbors_only) {
  std::deque<Lines> memory;
  expect_gossip(
      [&](int ranks, std::size_t arena_bytes) { return over_sockets(ranks, arena_bytes, memory); });
}

TEST(ZmqTraining, by_asynchronous_gossip_keeps_the_mean_and_converges_without_hanging) {
  std::deque<Lines> memory;
  expect_gossip_pairs(
      [&](int ranks, std::size_t arena_bytes) { return over_sockets(ranks, arena_bytes, memory); });
}

TEST(ZmqTraining, by_local_sgd_averages_by_an_all_reduce_and_moves_to_a_center) {
  std::deque<Lines> memory;
  expect_local_sgd(
      [&](int ranks, std::size_t arena_bytes) { return over_sockets(ranks, arena_bytes, memory); });
}

TEST(ZmqCollectives, give_each_rank_its_values_and_send_the_bytes_of_the_formula) {
  std::deque<Lines> memory;
  expect_every_collective(
      [&](int ranks, std::size_t arena_bytes) { return over_sockets(ranks, arena_bytes, memory); });
}

}  // namespace
}  // namespace trainyard::tests
