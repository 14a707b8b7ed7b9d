// SPDX-License-Identifier: GPL-3.0-or-later
// Records sample values of a rank's buckets before and after their collectives: a few elements of
// every chunk, evenly spaced. It does so in training steps 0, 1, 2, 4, 8, ..., in programs before
// the first step, and in single steps of the user. It records only the first collective of a bucket
// in a step. In other steps it costs a table lookup per op. It skips collectives of an engine,
// byte-encoded payloads, and collectives with more ranks or chunks than the workbench can play.
#pragma once

#include <vector>

#include "core/collective/expand.h"
#include "core/collective/steps.h"
#include "core/plan/frontier.h"
#include "core/run/bind/bound_plan.h"
#include "core/run/control/gate.h"
#include "core/telemetry/values_box.h"

namespace trainyard::run {

inline constexpr std::int64_t kSampledOfChunk = 4;  // maximum number of sampled elements per chunk
// maximum number of sampled bytes per rank and run, after which recording stops
inline constexpr std::size_t kMaxSampledBytes = std::size_t{1} << 18;

bool sampled_step(std::int64_t step);

// Returns the indices of a bucket's sampled elements, ascending. In a chunk of c elements, the
// indices are c (2 i + 1) / 2 n for i < n = min(c, kSampledOfChunk).
std::vector<std::int64_t> sampled_places(const collective::Exercise& bucket);

class ChunkSampler {
 public:
  // All arguments but `method` must outlive the sampler. `method`: how the plan's collectives were
  // expanded to sends and receives.
  ChunkSampler(const plan::RankPlan& plan, const std::vector<plan::Group>& groups,
               const BoundPlan& bound, const collective::Method& method, const Gate& gate,
               telemetry::ChunkValueQueue& box);

  // The thread that runs communication ops must call these functions for each op: `begins` before
  // any data of the op moves, and `ends` when the op is complete.
  void begins(const plan::Frontier::Ready& op);
  void ends(const plan::Frontier::Ready& op);

 private:
  // Sampling state of a bucket in a program.
  struct Bucket {
    telemetry::ChunkValues values;  // record to write; its step and values are filled in later
    const std::byte* data = nullptr;
    int ops = 0;
    std::int64_t instance = -1;  // index of the admitted program that is in progress
    int done = 0;                // number of completed ops of the bucket in this program
  };
  struct Program {
    bool before_steps = false;
    std::vector<Bucket> buckets;
    std::vector<int> bucket_of;  // bucket by op; -1: not sampled
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
  compute::Compute* device_;  // device that holds the values
  const Gate& gate_;
  telemetry::ChunkValueQueue& box_;
  std::size_t put_bytes_ = 0;
  bool full_ = false;
};

}  // namespace trainyard::run
