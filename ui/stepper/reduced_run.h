// SPDX-License-Identifier: GPL-3.0-or-later
// How a run reduces its gradients: ranks, algorithm and buckets, as its recording says. A bucket that is compressed is what travels of it.
#pragma once

#include <string>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/json.h"
#include "core/collective/algorithm.h"

namespace trainyard::ui {

struct RunBucket {
  int number = 0;
  std::int64_t elements = 0;
  base::DType dtype = base::DType::fp32;
};

struct ReducedRun {
  std::vector<int> hosts;  // by rank
  collective::Algorithm algorithm = collective::Algorithm::ring;
  collective::Collective collective = collective::Collective::all_reduce;  // of all buckets; some compressed gradients are gathered
  std::int64_t segment_bytes = 0;
  std::string engine;              // that took each bucket whole, and reported no chunks; empty: none
  std::vector<RunBucket> buckets;  // in the order in which they are reduced; none for one rank, or where nothing is all-reduced
};

// Of a resolved experiment as it was recorded. Makes a plan, so it may take a while.
base::Result<ReducedRun> reduced_run(const base::Json& resolved);

}  // namespace trainyard::ui
