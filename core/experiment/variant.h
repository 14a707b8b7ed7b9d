// SPDX-License-Identifier: GPL-3.0-or-later
// Variant of an experiment with fewer ranks and another algorithm, for scaling measurements. Pure.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

enum class Scaling {
  weak,    // The batch per rank is constant, so the global batch grows with the number of ranks.
  strong,  // The global batch is constant: that of the full drawing, divided among the ranks.
};

struct Variant {
  std::int64_t ranks = 1;
  // Requested all-reduce algorithm; unused on one rank.
  collective::Algorithm algorithm = collective::Algorithm::ring;
  Scaling scaling = Scaling::weak;
  std::int64_t steps = 50;

  bool operator==(const Variant&) const = default;
};

// Returns the experiment on the first `ranks` ranks of the drawing (`topology::first_ranks`), with
// the given number of steps, at full speed and without evaluations. Everything else, such as seed
// and data, is unchanged. If all ranks are on one host, multi_worker_mirrored becomes mirrored,
// which has the same plan. Fails if the drawing has fewer ranks, if the strategy does not let the
// algorithm be chosen, or if the engine reports no bytes. Also fails if the algorithm does not
// support this number of ranks, or if the global batch cannot be divided evenly.
base::Result<Experiment> variant(const Experiment& whole, const Variant& wanted);

// Returns a text such as "ring on 4 ranks" or "1 rank".
std::string describe(const Variant& variant);

}  // namespace trainyard::experiment

template <>
struct trainyard::base::Names<trainyard::experiment::Scaling> {
  using S = trainyard::experiment::Scaling;
  static constexpr std::pair<S, std::string_view> table[] = {{S::weak, "weak"},
                                                             {S::strong, "strong"}};
};
