// SPDX-License-Identifier: GPL-3.0-or-later
// Answers offers of active ranks on a passive rank (asynchronous gossip, plan/gossip_pair.h). An
// offer contains the active rank's parameters. The passive rank atomically replaces its parameters
// by the mean of its own and the offered ones, and sends the mean back. The rank's only thread does
// this between any two of its ops. So no other op sees half-averaged parameters, and an active rank
// waits for at most one op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/comm/transport.h"
#include "core/run/bind/bound_plan.h"

namespace trainyard::run {

struct OfferAnswererParts {
  const plan::RankPlan* plan = nullptr;
  const BoundProgram* answers = nullptr;  // program "answer" of the plan
  comm::Transport* transport = nullptr;
  compute::Compute* compute = nullptr;
  std::uint32_t generation = 0;
  std::int64_t first_step = 0, steps = 0;  // steps of the run
};

// An answered offer: its op in program "answer", and the step of the active rank.
struct AnsweredOffer {
  int op = 0;
  std::int64_t step = 0, begin_ns = 0, end_ns = 0, bytes = 0;  // `bytes`: sum of both directions
};

class OfferAnswerer {
 public:
  explicit OfferAnswerer(const OfferAnswererParts& parts);

  // Answers all offers that have arrived, and calls `report` for each. Returns true if there were
  // any.
  base::Result<bool> answer(const std::function<void(const AnsweredOffer&)>& report);
  // Like the other `answer`, but answers only one active rank. `number`: index of the pair with
  // this rank.
  base::Result<bool> answer(std::size_t number,
                            const std::function<void(const AnsweredOffer&)>& report);

  // Returns the op that answers the next unanswered offer of `step` or of an earlier step; -1 if
  // all these offers are answered.
  int next_answer(std::int64_t step) const;
  std::int64_t averages() const { return averages_; }  // number of averages so far

 private:
  // State of one active rank: the step of its next offer.
  struct AskingRank {
    const plan::GossipPair* pair = nullptr;
    std::int64_t next = 0;
  };
  base::Result<void> average(const BoundOp& op, const std::byte* offered);
  std::int64_t asked_from(const plan::GossipPair& pair, std::int64_t step) const;

  OfferAnswererParts parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<AskingRank> asking_ranks_;  // active ranks, by op of program "answer"
  std::int64_t averages_ = 0;
};

}  // namespace trainyard::run
