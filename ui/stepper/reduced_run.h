// SPDX-License-Identifier: GPL-3.0-or-later
// The collectives of a run's steps: ranks, algorithm and buckets, as its recording says. A bucket
// that is compressed is what travels of it.
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/collective/steps.h"

namespace trainyard::ui {

struct RunBucket {
  int group = 0, number = 0;
  collective::Collective collective = collective::Collective::all_reduce;
  int root = 0;            // a position, where there is one
  std::vector<int> ranks;  // by position
  std::int64_t elements = 0;
  base::DType dtype = base::DType::fp32;
  std::int64_t row = 1;       // as of plan::Op
  std::string token;          // of its op in the coarse plan: "REDUCE.b1>r4"
  std::string buffer;         // that it is part of: "grads"
  bool before_steps = false;  // it comes once, before the first step
};

struct ReducedRun {
  std::vector<int> hosts;  // by rank
  collective::Algorithm algorithm = collective::Algorithm::ring;
  std::int64_t segment_bytes = 0;
  std::string engine;  // that took each bucket whole, and reported no chunks; empty: none
  std::vector<RunBucket> buckets;  // of a step group after group, in the order of their lanes; then
                                   // those before the first step

  bool of_one_kind()
      const;  // all of one collective, and of gradients alone: their numbers tell them
  collective::Exercise exercise(const RunBucket& bucket) const;
};

// Of a resolved experiment as it was recorded. Makes a plan, so it may take a while.
base::Result<ReducedRun> reduced_run(const base::Json& resolved);

}  // namespace trainyard::ui
