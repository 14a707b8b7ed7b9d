// SPDX-License-Identifier: GPL-3.0-or-later
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "backends/shm/transport.h"
#include "tests/conformance/asynchronous_gossip_training.h"
#include "tests/conformance/every_collective.h"
#include "tests/conformance/gossip_training.h"
#include "tests/conformance/local_sgd_training.h"
#include "tests/conformance/synchronized_training.h"
#include "tests/conformance/vertical_training.h"

namespace trainyard::tests {
namespace {

std::vector<std::unique_ptr<comm::Transport>> over_shared_memory(int ranks,
                                                                 std::size_t arena_bytes) {
  const int file =
      shm::create(std::vector<std::size_t>(static_cast<std::size_t>(ranks), arena_bytes), 8)
          .value();
  std::vector<std::unique_ptr<comm::Transport>> ends;
  for (int rank = 0; rank < ranks; ++rank) ends.push_back(std::move(shm::open(file, rank).value()));
  ::close(file);
  return ends;
}

TEST(ShmTraining, allocates_nothing_in_later_steps) {
  for (const auto algorithm : {collective::Algorithm::ring, collective::Algorithm::direct})
    for (const int ranks : {2, 4}) {
      experiment::Experiment e = small(ranks, 24);
      e.strategy.algorithm = algorithm;
      EXPECT_THAT(allocated_by_more_steps(e, over_shared_memory), testing::Each(0))
          << ranks << " ranks, " << base::name_of(algorithm);
    }
}

// Sums lie in shared memory beside the gradients, and peers add them up where they lie.
TEST(ShmTraining, with_synchronized_batch_normalization_equals_one_device) {
  for (const int ranks : {2, 4}) expect_images_equal_one_device(ranks, over_shared_memory);
}

// Rows lie in shared memory, where peers add them up or take them from.
TEST(ShmTraining, by_feature_columns_equals_one_device) {
  for (const int ranks : {2, 3, 4}) expect_columns_equal_one_device(ranks, over_shared_memory);
}

TEST(ShmTraining, by_gossip_keeps_the_mean_and_converges_and_sends_to_neighbors_only) {
  expect_gossip(over_shared_memory);
}

TEST(ShmTraining, by_asynchronous_gossip_keeps_the_mean_and_converges_without_hanging) {
  expect_gossip_pairs(over_shared_memory);
}

TEST(ShmTraining, by_local_sgd_averages_by_an_all_reduce_and_moves_to_a_center) {
  expect_local_sgd(over_shared_memory);
}

TEST(ShmCollectives, give_each_rank_its_values_and_send_the_bytes_of_the_formula) {
  expect_every_collective(over_shared_memory);
}

}  // namespace
}  // namespace trainyard::tests
