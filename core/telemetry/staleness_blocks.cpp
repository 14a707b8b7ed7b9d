// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/telemetry/staleness_blocks.h"

#include <algorithm>
#include <numeric>

namespace trainyard::telemetry {

void StalenessBlocks::take(std::int32_t step, double seconds, double staleness) {
  open_.push_back(staleness);
  if (open_.size() < kGradients) return;
  std::sort(open_.begin(), open_.end());
  // 95th percentile (nearest-rank method): at most this staleness for 95 % of the gradients.
  const std::size_t at_p95 = (95 * kGradients + 99) / 100 - 1;
  mean_.push_back(
      {step, seconds,
       std::accumulate(open_.begin(), open_.end(), 0.0) / static_cast<double>(kGradients)});
  p95_.push_back({step, seconds, open_[at_p95]});
  most_.push_back({step, seconds, open_.back()});
  open_.clear();
}

}  // namespace trainyard::telemetry
