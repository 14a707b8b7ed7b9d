// SPDX-License-Identifier: GPL-3.0-or-later
// One experiment on fewer ranks, by another algorithm: what is run to see how training scales.
// Pure.
#pragma once

#include "core/experiment/experiment.h"

namespace trainyard::experiment {

enum class Scaling {
  weak,    // every rank keeps its batch: the global batch grows with the ranks
  strong,  // the global batch stays that of the whole drawing: ranks share it
};

struct Variant {
  std::int64_t ranks = 1;
  collective::Algorithm algorithm = collective::Algorithm::ring;  // of no matter for one rank
  Scaling scaling = Scaling::weak;
  std::int64_t steps = 50;

  bool operator==(const Variant&) const = default;
};

// The first `ranks` ranks of the drawing (topology::first_ranks), so many steps at full speed,
// without evaluations on the way; seed, data and all else as given. Where all ranks stand on one
// host, multi_worker_mirrored becomes mirrored, whose plan is the same. Problems: more ranks than
// are drawn, a strategy that no algorithm sums for, an engine that reports no bytes, an algorithm
// that does not fit, a global batch that cannot be shared evenly.
base::Result<Experiment> variant(const Experiment& whole, const Variant& wanted);

// "ring on 4 ranks", "1 rank".
std::string in_words(const Variant& variant);

}  // namespace trainyard::experiment

template <>
struct trainyard::base::Names<trainyard::experiment::Scaling> {
  using S = trainyard::experiment::Scaling;
  static constexpr std::pair<S, std::string_view> table[] = {{S::weak, "weak"},
                                                             {S::strong, "strong"}};
};
