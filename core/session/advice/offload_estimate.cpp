// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/advice/offload_estimate.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/swap.h"

namespace trainyard::session {
namespace {

std::int64_t bytes_copied(const plan::RankPlan& rank, const plan::Program& program) {
  std::int64_t bytes = 0;
  for (const plan::Op& op : program.ops) {
    if (op.kind != plan::OpKind::offload) continue;
    for (const plan::Access& read : op.reads)
      bytes += read.count * base::size_of(rank.buffers[read.buffer.index()].dtype);
  }
  return bytes;
}

}  // namespace

std::int64_t offloaded_bytes(const plan::Plan& plan) {
  std::int64_t most = 0;
  for (std::int32_t number = 0; number < plan.ranks; ++number) {
    const plan::RankPlan rank = plan.rank_plan(number);
    for (const plan::Program& program : rank.programs)
      most = std::max(most, bytes_copied(rank, program));
  }
  return most;
}

std::optional<std::string> offload_line(const experiment::Resolved& resolved,
                                        const plan::Plan& plan) {
  if (!experiment::offloads(resolved.document.training)) return std::nullopt;
  const std::int64_t bytes = offloaded_bytes(plan);
  if (bytes == 0) return "nothing is offloaded: no activation is idle long enough";
  return fmt::format(
      "the rank that offloads the most offloads {} per step, and fetches the same amount again",
      base::format_bytes(static_cast<double>(bytes)));
}

}  // namespace trainyard::session
