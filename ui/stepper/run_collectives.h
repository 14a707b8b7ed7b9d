// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives in a run's steps: ranks, algorithm and buckets, from its recording. A compressed
// bucket has the size of its payload.
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
  int root = 0;            // position of the root, if any
  std::vector<int> ranks;  // by position
  std::int64_t elements = 0;
  base::DType dtype = base::DType::fp32;
  std::int64_t row = 1;       // as in plan::Op
  std::string token;          // token of its op in the coarse plan: "REDUCE.b1>r4"
  std::string buffer;         // buffer that contains it: "grads"
  bool before_steps = false;  // executed once, before the first step
};

struct RunCollectives {
  std::vector<int> hosts;  // by rank
  collective::Algorithm algorithm = collective::Algorithm::ring;
  std::int64_t segment_bytes = 0;
  std::string engine;  // engine that executed full buckets and reported no chunks; empty: none
  // buckets of a step by group, in the order of their lanes; then those before the first step
  std::vector<RunBucket> buckets;

  bool has_single_kind()
      const;  // all buckets are of one collective and of gradients, so their numbers identify them
  collective::Exercise exercise(const RunBucket& bucket) const;
};

// Creates the run's buckets from its recorded, resolved experiment. Makes a plan, which may take a
// while.
base::Result<RunCollectives> run_collectives(const base::Json& resolved);

}  // namespace trainyard::ui
