// SPDX-License-Identifier: GPL-3.0-or-later
// Reader of a run's order file: the order in which servers handled messages of workers, or passive
// gossip ranks answered offers (written by journal.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace trainyard::session {

struct WrittenOrder {
  // Encoded events (plan/server_events.h, plan/answers.h), by rank. Empty for a rank that is
  // neither a server nor a passive gossip rank.
  std::vector<std::string> ranks;
  // True if the file ends within a frame, for example after a killed run. The incomplete frame is
  // lost.
  bool torn = false;
};

// Reads the order up to the end of the file. Returns a Problem with advice if the file is missing,
// is damaged before its end, or belongs to another plan. Also refuses events of a rank that is
// neither a server nor passive.
base::Result<WrittenOrder> read_order(const std::filesystem::path& path, const plan::Plan& plan);

// Adds advice to the problem of an order file that cannot be read or replayed. The file is the only
// copy of the order, so without it the run cannot be replayed.
base::Problem unreadable_order(base::Problem problem, const std::filesystem::path& path);

}  // namespace trainyard::session
