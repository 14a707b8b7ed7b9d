// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/control/slowness.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/random.h"

namespace trainyard::run {

SlowdownModel::SlowdownModel(std::int64_t seed, int rank, double slow_down, double jitter,
                             OpTimes drawn)
    : seed_(static_cast<std::uint64_t>(seed)),
      rank_(static_cast<std::uint32_t>(rank)),
      asked_(Asked{static_cast<float>(slow_down), static_cast<float>(jitter)}),
      drawn_(std::move(drawn)) {}

void SlowdownModel::set(double slow_down, double jitter) {
  asked_.store({static_cast<float>(slow_down), static_cast<float>(jitter)},
               std::memory_order_relaxed);
}

bool SlowdownModel::active() const {
  const Asked asked = asked_.load(std::memory_order_relaxed);
  return paced() || asked.slow_down > 1 || asked.jitter > 0;
}

double SlowdownModel::factor(std::int64_t step) const {
  const Asked asked = asked_.load(std::memory_order_relaxed);
  if (asked.jitter == 0) return static_cast<double>(asked.slow_down);
  const base::Random random(seed_, base::Purpose::straggler, rank_);
  return static_cast<double>(asked.slow_down) *
         (1 + static_cast<double>(asked.jitter) * random.uniform(static_cast<std::uint64_t>(step)));
}

std::int64_t SlowdownModel::drawn_ns(int program, int op, std::int64_t step) const {
  const std::int64_t without_slowdown =
      drawn_.nanoseconds[static_cast<std::size_t>(program)][static_cast<std::size_t>(op)];
  return std::llround(static_cast<double>(without_slowdown) * factor(step));
}

std::int64_t SlowdownModel::target_ns(int program, int op, std::int64_t step,
                                      std::int64_t real_ns) const {
  if (paced()) return std::max<std::int64_t>(real_ns, drawn_ns(program, op, step));
  return std::max<std::int64_t>(real_ns, std::llround(static_cast<double>(real_ns) * factor(step)));
}

std::int64_t SlowdownModel::lateness_ns(int program, int op, std::int64_t step,
                                        std::int64_t real_ns) const {
  return paced() ? std::max<std::int64_t>(real_ns - drawn_ns(program, op, step), 0) : 0;
}

}  // namespace trainyard::run
