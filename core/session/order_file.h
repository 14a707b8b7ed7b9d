// SPDX-License-Identifier: GPL-3.0-or-later
// The order of a run, as its ranks wrote it down (journal.h): read back whole, or told why not.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace trainyard::session {

struct WrittenOrder {
  std::vector<std::string> ranks;  // by rank of the plan: events as bytes (plan/served.h,
                                   // plan/answers.h); empty of one that keeps none
  bool torn =
      false;  // it ends within a frame: what came after is lost, as of a run that was killed
};

// The order ends where the file does. A file that is not there, damage before its end, events of a
// rank that keeps none, or an order of another plan is a Problem, which says what to do.
base::Result<WrittenOrder> read_order(const std::filesystem::path& path, const plan::Plan& plan);

// Events that cannot be: there is one copy of an order, and without all of it nobody knows what
// came after.
base::Problem unreadable_order(base::Problem problem, const std::filesystem::path& path);

}  // namespace trainyard::session
