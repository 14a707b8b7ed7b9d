// SPDX-License-Identifier: GPL-3.0-or-later
// Starts, steers and records a run. Never on the data path: it grants horizons, gathers what ranks
// tell, watches that they live, answers viewers, and says at the end what came out. One thread.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "core/session/control.h"
#include "core/session/rank.h"
#include "core/session/speaker.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

// A started rank, whatever carries it: a process, or a thread in tests.
class RankHandle {
 public:
  virtual ~RankHandle() = default;                 // ends it if it still runs
  virtual std::optional<std::string> ended() = 0;  // how, or nothing while it runs
  virtual bool killed() = 0;                       // it ended without a chance to say why
  virtual std::int64_t process() const = 0;
  virtual void kill() = 0;
  virtual bool stall(
      bool on) = 0;  // it stands still, until it is let go on; false: that cannot be done with it
};

struct LaunchRequest {
  std::vector<RankIdentity> ranks;
  const experiment::Resolved* experiment = nullptr;
  std::vector<std::size_t> shared_bytes;  // by rank: of the arena that peers read in place
  int channels = 0;                       // groups of the plan
  std::filesystem::path run_directory;
};
struct Launched {
  std::vector<std::unique_ptr<RankHandle>> ranks;
  // Starts one anew, in the place of one that was lost; null: that cannot be done.
  std::function<base::Result<std::unique_ptr<RankHandle>>(const RankIdentity& identity)> again;
  // From now on a link of the drawing, by its number, carries this part of its bandwidth; null:
  // links are not imposed.
  std::function<base::Result<void>(int link, double part)> set_link;
};
using Launch = std::function<base::Result<Launched>(const LaunchRequest& request)>;

struct CoordinatorParts {
  experiment::Experiment given;  // as the user wrote it
  experiment::Resolved resolved;
  std::filesystem::path run_directory;  // made by make_run_directory
  ControlServer* server = nullptr;
  Launch launch;
  std::function<int()> interrupts;  // Ctrl-Cs so far: the first stops in order, the second at once
  std::function<void(const Status& status, const telemetry::History& history)>
      observe;                  // a few times a second
  std::int64_t started_ns = 0;  // when the program that coordinates began (CLOCK_MONOTONIC)
  std::function<std::optional<double>()>
      simulated_step_seconds;  // by the drawn speeds; asked once, when training is over
  double silent_seconds = 3;
  Speaker::MakeCompute make_compute =
      {};  // that text is made up by, where no rank has the whole model; null: there is none
  base::Problems passed_over =
      {};  // newer checkpoints than the one that it goes on from, which cannot be used
};

struct CoordinatorResult {
  base::Json result;  // the result line of the command-line contract
  RunState state = RunState::failed;
  std::optional<base::Problem> problem;
};

// A Problem instead: the run could not even be recorded.
base::Result<CoordinatorResult> coordinate(CoordinatorParts parts);

}  // namespace trainyard::session
