// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of ranks that keep only a shard of the model: all plans of the strategy are proved, and
// faults in a plan are found.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/core/check/breaking.h"

namespace trainyard::check {
namespace {

using experiment::Shard;
using plan::Op;
using plan::OpKind;

experiment::Experiment sharded(experiment::Experiment e, Shard shard) {
  e.strategy.kind = experiment::StrategyKind::fsdp;
  e.strategy.fsdp.shard = shard;
  return e;
}

experiment::Experiment any_model_to_shard(int ranks) {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: return strategy::small_rows(ranks);
    case 1: return strategy::small_gpt(ranks);
    case 2: return strategy::small_tied_gpt(ranks);
    case 3: return strategy::small_wide_and_deep(ranks);
    default: return strategy::synchronized(strategy::small_normalized_images(ranks));
  }
}

RC_GTEST_PROP(ShardedPlans, of_any_model_are_proved, ()) {
  const int hosts = *rc::gen::inRange(1, 3), devices = *rc::gen::inRange(2, 4);
  experiment::Experiment e =
      sharded(any_model_to_shard(hosts * devices),
              *rc::gen::element(Shard::full, Shard::gradients, Shard::optimizer));
  e.topology = tests::drawn_hosts(hosts, devices);
  e.strategy.fsdp.group =
      *rc::gen::element(experiment::ShardGroup::world, experiment::ShardGroup::host);
  e.strategy.fsdp.reshard_after_forward = *rc::gen::arbitrary<bool>();
  e.strategy.fsdp.prefetch = *rc::gen::inRange(0, 4);
  e.strategy.bucket_bytes = *rc::gen::element(1, 150, 10'000);
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  e.training.batch_per_rank = *rc::gen::inRange(2, 9);
  e.training.accumulation_steps = *rc::gen::inRange(1, 4);
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  const auto made = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(made).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(made).value())) == "");
}

Victim whole(Shard shard, int micro_steps = 1) {
  experiment::Experiment e = sharded(strategy::small(3), shard);
  e.training.accumulation_steps = micro_steps;
  return coarse(e);
}

// True for the op that keeps a rank's shard of a sum.
OpTest keeps() {
  return [](const Op& op) {
    return op.kind == OpKind::mix && op.writes.front().buffer != op.reads.back().buffer;
  };
}

bool is_found_out(Victim& victim) {
  const auto proofs = failed(victim);
  return proofs.contains(Proof::sharding);
}

TEST(BrokenSharding, finds_a_unit_that_is_not_gathered) {
  Victim victim = whole(Shard::full);
  for (std::size_t rank = 0; rank < 3; ++rank)
    victim.remove(rank, victim.first(rank, is(OpKind::all_gather)));
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_a_gather_without_the_shard_of_the_rank) {
  Victim victim = whole(Shard::full);
  victim.remove(1, victim.first(1, is(OpKind::mix)));
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_passes_with_another_unit) {
  Victim victim = whole(Shard::full);
  std::vector<Op*> forward;
  for (Op& op : victim.train(2))
    if (op.kind == OpKind::forward && op.reads.size() > 1) forward.push_back(&op);
  std::swap(forward[0]->reads[1].first, forward[1]->reads[1].first);
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_a_gradient_that_is_not_summed) {
  for (const Shard shard : {Shard::full, Shard::gradients, Shard::optimizer}) {
    Victim victim = whole(shard);
    for (std::size_t rank = 0; rank < 3; ++rank)
      victim.remove(rank, victim.first(rank, is(OpKind::reduce_scatter)));
    EXPECT_TRUE(is_found_out(victim));
  }
}

TEST(BrokenSharding, finds_a_gradient_that_is_summed_twice) {
  Victim victim = whole(Shard::optimizer);
  for (std::size_t rank = 0; rank < 3; ++rank)
    victim.repeat(rank, victim.first(rank, is(OpKind::reduce_scatter)));
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_a_micro_step_that_is_lost_or_counted_twice) {
  Victim lost = whole(Shard::full, 3);
  const auto adds_up = [](const Op& op) { return op.kind == OpKind::mix && op.reads.size() == 2; };
  Op& replaces = lost.train(1)[lost.first(1, adds_up)];
  replaces.reads = {replaces.reads.back()};
  replaces.weights = {{1}, 1};
  EXPECT_TRUE(is_found_out(lost));
  Victim twice = whole(Shard::full, 3);
  twice.repeat(1, twice.first(1, adds_up));
  EXPECT_TRUE(is_found_out(twice));
}

TEST(BrokenSharding, finds_a_shard_of_a_sum_that_is_not_kept) {
  Victim victim = whole(Shard::gradients);
  victim.remove(0, victim.first(0, keeps()));
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_a_shard_that_is_not_updated_or_updated_twice) {
  for (const Shard shard : {Shard::full, Shard::gradients, Shard::optimizer}) {
    Victim left_out = whole(shard);
    left_out.remove(2, left_out.first(2, is(OpKind::update)));
    EXPECT_TRUE(is_found_out(left_out));
    Victim twice = whole(shard);
    twice.repeat(2, twice.first(2, is(OpKind::update)));
    EXPECT_TRUE(is_found_out(twice));
  }
}

TEST(BrokenSharding, finds_parameters_that_are_not_sent_after_the_update) {
  Victim victim = whole(Shard::optimizer);
  for (std::size_t rank = 0; rank < 3; ++rank)
    victim.remove(rank, victim.find(rank, is(OpKind::all_gather)).back());
  EXPECT_TRUE(is_found_out(victim));
}

TEST(BrokenSharding, finds_an_update_with_the_gradient_of_another_shard) {
  Victim victim = whole(Shard::full);
  const auto updates = victim.find(0, is(OpKind::update));
  Op &a = victim.train(0)[updates[0]], &b = victim.train(0)[updates[1]];
  a.reads.front().first += b.reads.front().first > a.reads.front().first ? 1 : -1;
  EXPECT_TRUE(is_found_out(victim));
}

}  // namespace
}  // namespace trainyard::check
