// SPDX-License-Identifier: GPL-3.0-or-later
// Plans of trainers that call layers on parameter servers: all that the strategy makes are proved,
// and what is broken in one is found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/strategy/order.h"
#include "tests/core/check/breaking.h"
#include "tests/core/strategy/rpc_experiments.h"

namespace trainyard::check {
namespace {

using experiment::RemoteLayers;
using experiment::RemoteOutput;
using plan::Op;
using plan::OpKind;

RC_GTEST_PROP(RpcPlans, of_any_shape_are_proved, ()) {
  const auto remote = *rc::gen::element(RemoteLayers::all, RemoteLayers::embeddings);
  const auto output = *rc::gen::element(RemoteOutput::value, RemoteOutput::reference);
  const int trainers = *rc::gen::inRange(1, 5),
            servers = *rc::gen::inRange(1, remote == RemoteLayers::all ? 4 : 3);
  experiment::Experiment e =
      strategy::called(strategy::small_wide_and_deep(1), trainers, servers, remote, output);
  e.strategy.algorithm =
      *rc::gen::element(collective::Algorithm::ring, collective::Algorithm::direct);
  e.training.batch_per_rank = *rc::gen::inRange(2, 5);
  e.training.accumulation_steps = *rc::gen::inRange(1, 4);
  e.training.clip_norm = *rc::gen::element(0.0, 1.0);
  e.training.recompute_segments = *rc::gen::element(0, 2);
  const auto made = strategy::resolved(e);
  RC_ASSERT(base::to_string(check(strategy::coarse_plan(made).value())) == "");
  RC_ASSERT(base::to_string(check(strategy::make_plan(made).value())) == "");
}

// Trainers, two of them ranks 0 and 1, and a server, which is the last rank.
Victim whole(RemoteLayers remote, int trainers = 2) {
  experiment::Experiment e = strategy::called(strategy::small_clicks(1), trainers, 1, remote);
  e.training.batch_per_rank = 4;
  e.training.accumulation_steps = 2;
  e.data.train_samples = 240;
  e.data.held_out_samples = 0;
  return coarse(e);
}

OpTest learns(std::int32_t segment, std::int32_t micro) {
  return [=](const Op& op) {
    return op.kind == OpKind::backward_weight && op.segment == segment && op.micro == micro;
  };
}

TEST(BrokenRpc, finds_a_trainer_whose_gradient_the_server_omits) {
  Victim victim = whole(RemoteLayers::all);
  victim.remove(2, victim.first(2, learns(0, 3)));
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 2, program train, op UPD.s0"));
}

TEST(BrokenRpc, finds_a_micro_batch_that_overwrites_gradients_of_others) {
  Victim victim = whole(RemoteLayers::embeddings);
  Op& op = victim.train(2)[victim.first(2, learns(0, 2))];
  op.reads.pop_back();
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 2, program train, op UPD.s0"));
}

TEST(BrokenRpc, finds_trainers_that_do_not_sum_all_gradients) {
  Victim victim = whole(RemoteLayers::embeddings);
  for (const std::size_t rank : {0u, 1u}) {
    const auto sums = [&](const Op& op) {
      return op.kind == OpKind::all_reduce &&
             victim.ranks[rank].buffers[op.writes.front().buffer.index()].name == "grads";
    };
    Op& op = victim.train(rank)[victim.first(rank, sums)];
    --op.reads.front().count, --op.writes.front().count;
  }
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program train, op UPD.s2"));
}

// Sums the gradients of four trainers in pairs, although all call one server.
TEST(BrokenRpc, finds_trainers_that_sum_with_only_some_others) {
  Victim victim = whole(RemoteLayers::embeddings, 4);
  const auto known = static_cast<std::int32_t>(victim.groups.size()) - 1;
  ASSERT_EQ(victim.groups.back().ranks, (std::vector<std::int32_t>{0, 1, 2, 3}));
  victim.groups.back().ranks = {0, 1};
  victim.groups.push_back({{2, 3}});
  for (const std::size_t rank : {2u, 3u}) {
    for (plan::Lane& lane : victim.ranks[rank].lanes) lane.group += lane.group == known ? 1 : 0;
    for (plan::Program& program : victim.ranks[rank].programs)
      for (Op& op : program.ops) op.group += op.group == known ? 1 : 0;
  }
  EXPECT_TRUE(is_found(victim, "proof_meaning at rank 0, program tail, op UPD.s2"));
}

// A server answers the second trainer by what the first one sent.
TEST(BrokenRpc, finds_an_answer_to_the_wrong_trainer) {
  Victim victim = whole(RemoteLayers::embeddings);
  const auto computes = [](const Op& op) {
    return op.kind == OpKind::forward && op.segment == 0 && op.micro == 1;
  };
  Op& op = victim.train(2)[victim.first(2, computes)];
  op.reads.front().first = 0;
  EXPECT_TRUE(is_found(victim, "proof_passing at rank 2, program train, op F.s0.m1"));
}

}  // namespace
}  // namespace trainyard::check
