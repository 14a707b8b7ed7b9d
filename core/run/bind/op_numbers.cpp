// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/op_numbers.h"

#include "core/base/units.h"

namespace trainyard::run {
namespace {

std::string ops(std::size_t count) {
  return base::format_count(static_cast<std::int64_t>(count)) + " ops";
}

}  // namespace

base::Result<void> check_op_numbers(const plan::RankPlan& rank) {
  for (const plan::Program& program : rank.programs)
    if (program.ops.size() > kMostOps)
      return base::fail({base::ProblemCode::bad_input,
                         "rank " + std::to_string(rank.rank) + ", program " + program.name,
                         "has " + ops(program.ops.size()) + ", more than an event can number",
                         "up to " + ops(kMostOps),
                         "Use fewer devices, layers or accumulation steps, or larger buckets "
                         "(strategy.bucket_bytes)."});
  return {};
}

}  // namespace trainyard::run
