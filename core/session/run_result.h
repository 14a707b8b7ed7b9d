// SPDX-License-Identifier: GPL-3.0-or-later
// The result line of `run`, from what was measured.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/data/shards.h"
#include "core/experiment/vertical.h"
#include "core/session/messages.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

struct RunFacts {
  RunState state = RunState::failed;
  std::optional<base::Problem> problem;
  double wall_seconds = 0;                        // from Run pressed to now
  std::int64_t started_ns = 0;                    // CLOCK_MONOTONIC
  std::vector<std::optional<Finished>> finished;  // by rank
  std::filesystem::path run_directory;
  std::vector<bool> emulated;  // by rank: its device is not the one that was drawn
  std::optional<double> simulated_step_seconds;  // median, by the drawn speeds
  data::ShardingKind sharding = data::ShardingKind::iid;
  data::ShardTable shards;  // as in experiment::Resolved
  experiment::RunSpec run;  // what of the drawn speeds was imposed
  experiment::CompressionSpec compression;
  experiment::Engine engine = experiment::Engine::own;  // another reports no bytes
  experiment::Multiplies multiplies = experiment::Multiplies::full;
  std::optional<double> sent_ratio = {};  // as in experiment::Savings
  std::vector<std::string> duties = {};   // by rank: "worker", or what else it does
  experiment::ColumnTable columns = {};   // by rank: its feature columns, where they are shared out
  std::int64_t first_step = 0;            // done already when it began
  std::optional<std::int64_t> last_step =
      {};  // the last one that was to be done, of a run that was completed
  std::optional<std::int64_t> committed_step =
      {};                               // of the newest checkpoint that another run can go on from
  std::optional<double> lambda_2 = {};  // of gossip: the second largest absolute eigenvalue of its
                                        // mixing matrix (experiment/mixing.h)
};

base::Json run_result(const RunFacts& facts, const telemetry::History& history);

base::Json to_json(const base::Problem& problem);

}  // namespace trainyard::session
