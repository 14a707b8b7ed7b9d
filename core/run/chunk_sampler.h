// SPDX-License-Identifier: GPL-3.0-or-later
// Puts aside, for a few steps, what a rank's buckets hold before and after their collectives: of
// every chunk a few elements, spread over it. Steps 0, 1, 2, 4, 8, ... of training, what comes
// before them, and those that a person steps singly; of each bucket the first collective of a step.
// Between them it costs a look at a table for an op. What an engine takes whole, or travels as
// codes of bytes, or has more ranks or chunks than can be played, is left alone.
#pragma once

#include <vector>

#include "core/collective/expand.h"
#include "core/collective/steps.h"
#include "core/plan/frontier.h"
#include "core/run/bound_plan.h"
#include "core/run/gate.h"
#include "core/telemetry/values_box.h"

namespace trainyard::run {

inline constexpr std::int64_t kSampledOfChunk = 4;  // elements, where it has as many
inline constexpr std::size_t kMostSampledBytes =
    std::size_t{1} << 18;  // of a rank in a run; then nothing more is put aside

bool sampled_step(std::int64_t step);

// Elements of a bucket, ascending: of a chunk of c elements those at c (2 i + 1) / 2 n, for i below
// n = min(c, kSampledOfChunk).
std::vector<std::int64_t> sampled_places(const collective::Exercise& bucket);

class ChunkSampler {
 public:
  // All but `method` must outlive it. By `method` the plan was expanded.
  ChunkSampler(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
               const BoundPlan& bound, const collective::Method& method, const Gate& gate,
               telemetry::ValuesBox& box);

  // Of each op that communicates, from the thread that runs them: before anything of it has moved,
  // and when it is complete.
  void begins(const plan::Frontier::Ready& op);
  void ends(const plan::Frontier::Ready& op);

 private:
  // A bucket of a program.
  struct Bucket {
    telemetry::ChunkValues values;  // but for the step and the numbers
    const std::byte* data = nullptr;
    int ops = 0;
    std::int64_t instance = -1;  // that is under way
    int done = 0;                // ops of it
  };
  struct Program {
    bool before_steps = false;
    std::vector<Bucket> buckets;
    std::vector<int> bucket_of;  // by op; -1: none that is sampled
  };

  Program sampled(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
                  const plan::Program& program, const BoundProgram& bound,
                  const collective::Method& method) const;
  bool samples(const plan::Frontier::Ready& op) const {
    return programs_[static_cast<std::size_t>(op.program)].before_steps || sampled_step(op.step) ||
           gate_.looked_at(op.step);
  }
  Bucket* bucket_of(const plan::Frontier::Ready& op);
  void put(Bucket& bucket, const plan::Frontier::Ready& last);

  std::vector<Program> programs_;
  compute::Compute* device_;  // where the numbers are
  const Gate& gate_;
  telemetry::ValuesBox& box_;
  std::size_t put_bytes_ = 0;
  bool full_ = false;
};

}  // namespace trainyard::run
