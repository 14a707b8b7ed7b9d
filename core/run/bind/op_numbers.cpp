// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/bind/op_numbers.h"

#include <fmt/core.h>

#include "core/base/units.h"

namespace trainyard::run {
namespace {

std::string ops(std::size_t count) { return base::counted(static_cast<std::int64_t>(count), "op"); }

}  // namespace

base::Result<void> check_op_numbers(const plan::RankPlan& rank) {
  for (const plan::Program& program : rank.programs)
    if (program.ops.size() > kMaxOps)
      return base::fail({"too_many_ops", base::ProblemCode::bad_input,
                         fmt::format("rank {}, program {}", rank.rank, program.name),
                         fmt::format("the program has {}, more than events can identify",
                                     ops(program.ops.size())),
                         fmt::format("up to {}", ops(kMaxOps)),
                         "Use fewer devices, layers or accumulation steps, or larger buckets "
                         "(strategy.bucket_bytes)."});
  return {};
}

}  // namespace trainyard::run
