// SPDX-License-Identifier: GPL-3.0-or-later
// Builds the result line of `run` from what was measured.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "core/data/shards.h"
#include "core/experiment/vertical.h"
#include "core/session/protocol/messages.h"
#include "core/session/system/clock_offset.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

struct RunFacts {
  RunState state = RunState::failed;
  std::optional<base::Problem> problem;
  double wall_seconds = 0;      // Seconds since the user started the run.
  std::int64_t started_ns = 0;  // Start time of the run (CLOCK_MONOTONIC).
  // Final reports of ranks, by rank number; nothing for a rank that did not finish.
  std::vector<std::optional<Finished>> finished;
  std::filesystem::path run_directory;
  // By rank: true if it runs on another device than drawn.
  std::vector<bool> emulated;
  // Median step time simulated with the drawn speeds.
  std::optional<double> simulated_step_seconds;
  data::ShardingKind sharding = data::ShardingKind::iid;
  data::ShardTable shards;  // Samples by rank and class, as in `experiment::Resolved`.
  // Settings of the run, for example whether links and devices were limited to the drawn speeds.
  experiment::RunSpec run;
  experiment::CompressionSpec compression;
  // Engine of the collectives. Only the engine `own` reports bytes.
  experiment::Engine engine = experiment::Engine::own;
  experiment::Multiplies multiplies = experiment::Multiplies::full;
  // Ratio of sent bytes without and with compression, as in `experiment::Savings`.
  std::optional<double> sent_ratio = {};
  std::vector<std::string> duties = {};  // "worker" or another role, by rank.
  // Feature columns of each rank, if the columns of the data set are divided among ranks.
  experiment::ColumnTable columns = {};
  std::int64_t first_step = 0;  // Steps that earlier runs had completed.
  // Number of steps that the experiment requests; set if the run completed all of them.
  std::optional<std::int64_t> last_step = {};
  // For servers: samples of the steps that the run completed, over all workers.
  std::optional<std::int64_t> assigned_samples = {};
  // Step of the newest checkpoint that another run can resume from.
  std::optional<std::int64_t> committed_step = {};
  // Problems of unusable checkpoints that are newer than the checkpoint from which the run resumed.
  base::Problems skipped_checkpoints = {};
  // For gossip: second largest absolute eigenvalue of the mixing matrix
  // (experiment/mixing_matrix.h).
  std::optional<double> lambda_2 = {};
  telemetry::RecordedThinning thinning = {};
  // By rank: the clock of its machine, if it is another one.
  std::vector<std::optional<ClockOffset>> clocks = {};
  // Encryption of messages between machines; nothing if all ranks are on this machine.
  std::optional<experiment::Encryption> encryption = {};
  int cpu_level = 0;  // x86-64 level to which ranks on different CPUs were limited; 0: no limit
};

base::Json run_result(const RunFacts& facts, const telemetry::History& history);

base::Json to_json(const base::Problem& problem);

}  // namespace trainyard::session
