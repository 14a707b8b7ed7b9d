// SPDX-License-Identifier: GPL-3.0-or-later
// What a passive rank does for those that may ask it (plan/pairing.h): whoever has offered its
// parameters is answered with the mean of both, which becomes the rank's own. At one go, by the
// rank's one thread, between any two of its ops: so no other op sees parameters that are half
// averaged, and who asks waits for no more than one op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/comm/transport.h"
#include "core/run/bound_plan.h"

namespace trainyard::run {

struct AnsweringParts {
  const plan::RankPlan* plan = nullptr;
  const BoundProgram* answers = nullptr;  // its program "answer"
  comm::Transport* transport = nullptr;
  compute::Compute* compute = nullptr;
  std::uint32_t generation = 0;
  std::int64_t first_step = 0, steps = 0;  // of the run
};

// An offer that was answered: its op in the program "answer", and its step, of the rank that asked.
struct Answered {
  int op = 0;
  std::int64_t step = 0, begin_ns = 0, end_ns = 0, bytes = 0;  // both ways
};

class Answering {
 public:
  explicit Answering(const AnsweringParts& parts);

  // Answers all that is there; `told` of each. True: there was something.
  base::Result<bool> answer(const std::function<void(const Answered&)>& told);
  // The same of one rank that may ask, by the number of its pair.
  base::Result<bool> answer(std::size_t number, const std::function<void(const Answered&)>& told);

  // The op by which the rank will answer an offer of this step, or one before it, that it has not
  // had yet; -1: it has answered all.
  int owes(std::int64_t step) const;
  std::int64_t averages() const { return averages_; }  // so far

 private:
  // Of one rank that asks: the step of its next offer.
  struct Asker {
    const plan::Pairing* pairing = nullptr;
    std::int64_t next = 0;
  };
  base::Result<void> average(const BoundOp& op, const std::byte* offered);
  std::int64_t asked_from(const plan::Pairing& pairing, std::int64_t step) const;

  AnsweringParts parts_;
  std::unique_ptr<compute::Queue> queue_;
  std::vector<Asker> askers_;  // by op of the program
  std::int64_t averages_ = 0;
};

}  // namespace trainyard::run
