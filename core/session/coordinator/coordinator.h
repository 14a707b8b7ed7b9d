// SPDX-License-Identifier: GPL-3.0-or-later
// Coordinator: starts, controls and records a run. It is never on the data path. It tells ranks up
// to which step they may run (the horizon), collects their reports, watches their heartbeats,
// answers viewers, and writes the result. Single-threaded.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/experiment/resolve.h"
#include "core/session/protocol/control.h"
#include "core/session/rank/rank.h"
#include "core/session/rank/text_generator.h"
#include "core/session/system/clock_offset.h"
#include "core/session/system/job_control.h"
#include "core/telemetry/history.h"

namespace trainyard::session {

// Handle of a started rank: a process, or a thread in tests.
class RankHandle {
 public:
  virtual ~RankHandle() = default;  // Kills the rank if it still runs.
  // Returns how the rank ended; nothing while it runs.
  virtual std::optional<std::string> ended() = 0;
  virtual bool killed() = 0;  // True if a signal ended the rank, so that it could not report why.
  virtual std::int64_t process() const = 0;
  // Returns a descriptor that is readable once the rank has ended; -1 if there is none.
  virtual int end_descriptor() const { return -1; }
  // Returns the CPU time that the rank's process has used; nothing if it is not known.
  virtual std::optional<double> cpu_seconds() { return std::nullopt; }
  // Returns the clock of the rank's machine; nothing if it is this machine's.
  virtual std::optional<ClockOffset> clock_offset() { return std::nullopt; }
  // Returns the time since the rank's machine sent anything; 0 if it is this one.
  virtual double host_silent_seconds() { return 0; }
  virtual void kill() = 0;
  virtual bool stall(
      // Suspends the rank, or resumes it. False if this kind of rank cannot be suspended.
      bool on) = 0;
};

struct LaunchRequest {
  std::vector<RankIdentity> ranks;
  const experiment::Resolved* experiment = nullptr;
  std::vector<std::size_t> shared_bytes;  // By rank: size of the arena that peers read in place.
  int channels = 0;                       // Number of groups of the plan.
  std::filesystem::path run_directory;
  std::function<bool()> is_canceled = {};  // true if the user canceled the run; may be null
};
struct Launched {
  std::vector<std::unique_ptr<RankHandle>> ranks;
  // Starts a replacement for a failed rank; null if failed ranks cannot be replaced.
  std::function<base::Result<std::unique_ptr<RankHandle>>(const RankIdentity& identity)> again;
  // Limits a link from now on to the fraction `part` of its drawn bandwidth. `link`: index of the
  // link. Null if the run does not limit links to their drawn bandwidth.
  std::function<base::Result<void>(int link, double part)> set_link;
  // x86-64 level to which all ranks are limited, for example because their CPUs differ; 0: no
  // limit.
  int cpu_level = 0;
  // By rank, for ranks on other machines: the directory there that has the files of the run
  // (hosts/shared_files.h).
  std::map<int, std::filesystem::path> files = {};
};
using Launch = std::function<base::Result<Launched>(const LaunchRequest& request)>;

struct CoordinatorParts {
  experiment::Experiment given;  // The experiment as the user wrote it.
  experiment::Resolved resolved;
  std::filesystem::path run_directory;  // Created by `make_run_directory`.
  ControlServer* server = nullptr;
  Launch launch;
  // Returns how often Ctrl-C was pressed. The first Ctrl-C stops the run properly and keeps its
  // result; the second one stops it immediately.
  std::function<int()> interrupts;
  JobControl job_control = {};
  // Observer of the run, such as the output of the command line. Called a few times a second with
  // the state of the run.
  std::function<void(const Status& status, const telemetry::History& history)> observe;
  std::int64_t started_ns = 0;  // Start time of this process (CLOCK_MONOTONIC).
  // Returns the step time simulated with the drawn speeds; called once, after training.
  std::function<std::optional<double>()> simulated_step_seconds;
  double unresponsive_seconds = 3;
  // Creates the device that generates text, if no rank has the full model; null if there is none.
  TextGenerator::MakeCompute make_compute = {};
  // Problems of unusable checkpoints that are newer than the checkpoint from which the run resumes.
  base::Problems skipped = {};
};

struct CoordinatorResult {
  base::Json result;  // Result line that the command line prints.
  RunState state = RunState::failed;
  std::optional<base::Problem> problem;
};

// Runs the coordinator until the run ends. Returns a Problem only if the run could not be recorded
// at all.
base::Result<CoordinatorResult> coordinate(CoordinatorParts parts);

}  // namespace trainyard::session
