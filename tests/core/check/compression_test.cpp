// SPDX-License-Identifier: GPL-3.0-or-later
// Plans with compressed gradients are proved; one that forgets to encode or decode, or does so too
// early, is not.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/check/coding.h"
#include "core/experiment/fields.h"
#include "tests/core/check/break_together.h"

namespace trainyard::check {
namespace {

using compute::compression::Scheme;
using plan::Op;
using plan::OpKind;

const Scheme kAll[] = {Scheme::fp16,  Scheme::bf16,     Scheme::int8,     Scheme::sign,
                       Scheme::top_k, Scheme::random_k, Scheme::power_sgd};
Scheme any_scheme() { return *rc::gen::elementOf(std::vector(std::begin(kAll), std::end(kAll))); }
Scheme any_gathered() { return *rc::gen::element(Scheme::int8, Scheme::sign, Scheme::top_k); }

experiment::Experiment any_compressed(Scheme kind) {
  experiment::Experiment e = any_experiment(2 + plan::any_count(3));
  e.training.precision = experiment::Precision::fp32;
  e.strategy.bucket_bytes = *rc::gen::element(1, 300, 100000);
  e.strategy.kind = any_bool() ? experiment::StrategyKind::ddp : experiment::StrategyKind::mirrored;
  e.strategy.average = experiment::AveragedQuantity::gradients;
  e.strategy.compression = {kind, 0.1, *rc::gen::inRange<std::int64_t>(1, 4), any_bool()};
  e.strategy.algorithm = collective::Algorithm::ring;
  return e;
}

Victim any_compressed_victim(Scheme kind) {
  return Victim(strategy::coarse_plan(strategy::resolved(any_compressed(kind))).value());
}
collective::Algorithm any_algorithm_for(Scheme kind) {
  return compute::compression::gathers(kind)
             ? *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct)
             : any_algorithm();
}

bool encodes(const Op& op) { return op.kind == OpKind::encode; }
bool decodes(const Op& op) { return op.kind == OpKind::decode; }

RC_GTEST_PROP(CompressedPlans, are_proved_coarse_and_expanded, ()) {
  const Scheme kind = any_scheme();
  const Victim coarse = any_compressed_victim(kind);
  RC_LOG() << plan::to_text(coarse.plan());
  RC_ASSERT(base::to_string(check(coarse.plan())) == "");
  RC_ASSERT(base::to_string(check(coarse.expanded(any_algorithm_for(kind)).plan())) == "");
}

RC_GTEST_PROP(CompressedPlans, in_which_a_rank_does_not_encode_violate_meaning, ()) {
  const Scheme kind = any_scheme();
  Victim victim = any_compressed_victim(kind);
  const auto place = any_location(victim, encodes);
  victim.remove(place->rank, place->op);
  if (any_bool()) victim = victim.expanded(any_algorithm_for(kind));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(CompressedPlans, in_which_no_rank_encodes_violate_meaning, ()) {
  const Scheme kind = any_scheme();
  Victim victim = any_compressed_victim(kind);
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    while (!victim.find(rank, encodes).empty()) victim.remove(rank, victim.first(rank, encodes));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(CompressedPlans, in_which_a_rank_does_not_decode_violate_meaning, ()) {
  const Scheme kind = any_scheme();
  Victim victim = any_compressed_victim(kind);
  const auto place = any_location(victim, decodes);
  victim.remove(place->rank, place->op);
  if (any_bool()) victim = victim.expanded(any_algorithm_for(kind));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(CompressedPlans, in_which_no_rank_decodes_violate_meaning, ()) {
  Victim victim = any_compressed_victim(any_scheme());
  for (std::size_t rank = 0; rank < victim.ranks.size(); ++rank)
    while (!victim.find(rank, decodes).empty()) victim.remove(rank, victim.first(rank, decodes));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

RC_GTEST_PROP(CompressedPlans, that_decode_before_the_gather_is_complete_race_or_violate_meaning,
              ()) {
  const Scheme kind = any_gathered();
  Victim victim = any_compressed_victim(kind);
  const auto place = any_location(victim, decodes);
  op_at(victim, *place).after.clear();
  victim = victim.expanded(any_algorithm_for(kind));
  const auto found = failed(victim);
  RC_ASSERT(found.contains(Proof::races) || found.contains(Proof::meaning));
}

RC_GTEST_PROP(CompressedPlans, that_decode_only_a_part_of_the_gather_violate_meaning, ()) {
  Victim victim = any_compressed_victim(any_gathered());
  const auto place = any_location(victim, decodes);
  op_at(victim, *place).reads.front().count -= 1;
  RC_ASSERT(failed(victim) == std::set<Proof>{Proof::meaning});
}

// The gradient of a segment comes after its bucket was encoded.
RC_GTEST_PROP(CompressedPlans, that_encode_too_early_violate_meaning, ()) {
  Victim victim = any_compressed_victim(any_scheme());
  const auto place = any_location(victim, [&](std::size_t rank, const Op& op) {
    return op.kind == OpKind::encode &&
           op.reads.front().buffer == victim.ranks[rank].buffer("grads") && op.after.size() == 1;
  });
  auto& ops = victim.train(place->rank);
  const plan::Access gradient = ops[place->op].reads.front();
  const auto writes = [&](const Op& op) {
    return op.kind == OpKind::backward_weight && overlap(op.writes, {gradient});
  };
  const std::size_t last = victim.find(place->rank, writes).back();
  RC_PRE(last < place->op);
  std::rotate(ops.begin() + static_cast<std::ptrdiff_t>(last),
              ops.begin() + static_cast<std::ptrdiff_t>(place->op),
              ops.begin() + static_cast<std::ptrdiff_t>(place->op + 1));
  RC_ASSERT(failed(victim).contains(Proof::meaning));
}

// Nothing else says that the sends of the step before are over.
RC_GTEST_PROP(CompressedPlans, that_encode_while_peers_read_are_a_race, ()) {
  experiment::Experiment e = any_compressed(*rc::gen::element(Scheme::fp16, Scheme::int8));
  e.strategy.bucket_bytes = 1'000'000;
  e.strategy.kind = experiment::StrategyKind::mirrored;
  Victim victim(strategy::coarse_plan(strategy::resolved(e)).value());
  const auto place = any_location(victim, encodes);
  op_at(victim, *place).after.clear();
  RC_ASSERT(failed(victim.expanded(
                *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct))) ==
            std::set<Proof>{Proof::races});
}

TEST(Elements, are_ranges_that_scale_together_and_are_clipped) {
  Elements elements;
  elements.add(10, 20);
  elements.add(30, 40);
  EXPECT_TRUE(elements.all_of(10, 20));
  EXPECT_FALSE(elements.all_of(10, 40));
  elements.add(20, 30);
  EXPECT_TRUE(elements.all_of(10, 40));
  elements.remove(15, 16);
  EXPECT_FALSE(elements.all_of(10, 40));
  EXPECT_TRUE(elements.all_of(16, 40));
  EXPECT_TRUE(elements.any_of(0, 11));
  EXPECT_FALSE(elements.any_of(15, 16));
  EXPECT_FALSE(elements.any_of(40, 50));
  elements.add(5, 5);
  EXPECT_FALSE(elements.any_of(0, 10));
  EXPECT_TRUE(elements.all_of(7, 7)) << "no step is complete";
  elements.remove(0, 100);
  EXPECT_FALSE(elements.any_of(0, 100));
}

}  // namespace
}  // namespace trainyard::check
