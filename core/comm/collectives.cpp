// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/comm/collectives.h"

namespace trainyard::comm {

base::Problem not_supported(const std::string& engine, const CollectiveCall& call) {
  return {base::ProblemCode::bad_input, "strategy.engine",
          engine + " has no " + std::string(base::name_of(call.kind)) + " of " +
              std::string(base::name_of(call.dtype)) + " for Trainyard",
          "own", "Choose strategy.engine=own."};
}

base::Problem no_member(int rank, int group) {
  return {base::ProblemCode::failed, "rank " + std::to_string(rank),
          "is no member of group " + std::to_string(group), "", ""};
}

}  // namespace trainyard::comm
