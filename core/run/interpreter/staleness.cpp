// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/interpreter/staleness.h"

#include <map>

namespace trainyard::run {

Staleness::Staleness(const plan::RankPlan& plan) {
  for (const plan::Program& program : plan.programs) {
    std::vector<int>& by_op = by_op_.emplace_back();
    // number of updates before the forward pass of each micro-batch, by micro-batch
    std::map<std::int32_t, int> forward;
    int updates = 0;
    for (const plan::Op& op : program.ops) {
      if (op.kind == plan::OpKind::forward) forward.try_emplace(op.micro, updates);
      const bool counts = op.kind == plan::OpKind::rate && op.micro >= 0;
      // `forward` has no entry if only other ranks have samples of the micro-batch
      const auto passed = forward.find(op.micro);
      by_op.push_back(counts && passed != forward.end() ? updates - passed->second : -1);
      updates += counts ? 1 : 0;
    }
  }
}

}  // namespace trainyard::run
