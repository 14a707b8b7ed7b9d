// SPDX-License-Identifier: GPL-3.0-or-later
// Collectives that a run executes in a step: their ranks, algorithm and buckets, from the
// recording. If a bucket is compressed, its size is that of the compressed payload.
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
  int root = 0;            // position of the root in the group, if the collective has one
  std::vector<int> ranks;  // ranks of the members, by position
  std::int64_t elements = 0;
  base::DType dtype = base::DType::fp32;
  std::int64_t row = 1;       // same meaning as plan::Op::row
  std::string token;          // token of the collective's op in the coarse plan: "REDUCE.b1>r4"
  std::string buffer;         // buffer that contains the bucket: "grads"
  bool before_steps = false;  // true if it is executed once, before the first step
};

struct RunCollectives {
  std::vector<int> hosts;  // index of the host of each rank
  collective::Algorithm algorithm = collective::Algorithm::ring;
  std::int64_t segment_bytes = 0;
  // Engine that executed the collectives of full buckets and did not report chunks; empty if there
  // is none.
  std::string engine;
  // First the buckets of a training step, by group and in the order of the groups' lanes. Then the
  // buckets that are executed before the first step.
  std::vector<RunBucket> buckets;

  // True if all buckets belong to the same kind of collective and contain gradients. A bucket's
  // number is then enough to name it.
  bool has_single_kind() const;
  collective::Exercise exercise(const RunBucket& bucket) const;
};

// Returns the collectives of a run from its recorded, resolved experiment. May take a while,
// because it creates the plan.
base::Result<RunCollectives> run_collectives(const base::Json& resolved);

}  // namespace trainyard::ui
