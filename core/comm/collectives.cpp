// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/collectives.h"

#include <fmt/core.h>

namespace trainyard::comm {

base::Problem not_supported(const std::string& engine, const CollectiveCall& call) {
  return {"engine_lacks_operation",
          base::ProblemCode::bad_input,
          "strategy.engine",
          fmt::format("{} does not support {} of {} on this rank", engine, base::name_of(call.kind),
                      base::name_of(call.dtype)),
          "own",
          "Set strategy.engine to own."};
}

base::Problem no_member(int rank, int group) {
  return {"not_a_member",
          base::ProblemCode::failed,
          fmt::format("rank {}", rank),
          fmt::format("the rank is not a member of group {}", group),
          "",
          ""};
}

}  // namespace trainyard::comm
