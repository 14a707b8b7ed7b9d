// SPDX-License-Identifier: GPL-3.0-or-later
// Starts a run: starts the ranks of a resolved experiment.
#include <fmt/core.h>

#include <ctime>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/engine.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/imposed.h"
#include "core/experiment/mixing_matrix.h"
#include "core/experiment/servers.h"
#include "core/plan/text.h"
#include "core/run/bind/memory_use.h"
#include "core/session/advice/recording_estimate.h"
#include "core/session/checkpoint/resume.h"
#include "core/session/coordinator/coordination.h"
#include "core/strategy/strategy.h"

namespace trainyard::session {
namespace {

using base::Json;
using base::Result;

// Returns how many steps may be in progress at the same time: the number of workers with
// asynchronous servers, otherwise 1.
int steps_together(const experiment::Resolved& resolved) {
  return resolved.servers > 0 && !experiment::is_lockstep(resolved.document.strategy.servers)
             ? resolved.workers()
             : 1;
}

// Returns how many seconds fast ranks may be ahead of the slowest; 0 if all ranks step together. A
// pause may take this long to reach all ranks. With a smaller limit, fast ranks of asynchronous
// gossip would wait for the slowest rank between two global averages.
double max_lead_seconds(const experiment::Resolved& resolved) {
  constexpr double kApart = 4;
  return experiment::is_asynchronous_gossip(resolved.document.strategy) ? kApart : 0;
}

// Returns the number of steps between evaluations by training ranks; 0: evaluators evaluate, or
// there are no evaluations.
std::int64_t evaluated_between(const experiment::Resolved& resolved) {
  return resolved.evaluators > 0 ? 0 : resolved.document.run.evaluate_every_steps;
}

// Returns the time limits of the heartbeat check. NCCL ranks get a longer limit until their first
// op: they connect within a minute or report an error.
LivenessLimits limits_of(const CoordinatorParts& parts) {
  constexpr double kFound = 90;
  LivenessLimits limits;
  limits.unresponsive_seconds = parts.unresponsive_seconds;
  limits.hang_seconds =
      parts.resolved.document.run.hang_seconds + experiment::max_op_gap_seconds(parts.resolved);
  limits.begin_seconds =
      experiment::engine_of(parts.resolved) == experiment::Engine::nccl ? kFound : 0;
  return limits;
}

}  // namespace

Coordination::Coordination(CoordinatorParts parts)
    : p_(std::move(parts)),
      run_key_(random_number()),
      pacer_(p_.resolved.steps, p_.resolved.document.run.seconds_per_step,
             evaluated_between(p_.resolved), steps_together(p_.resolved),
             max_lead_seconds(p_.resolved)),
      liveness_monitor_(rank_names(p_.resolved), limits_of(p_)) {}

Result<void> Coordination::write_documents() const {
  for (const auto& [name, text] :
       {std::pair<const char*, std::string>{"experiment.json", experiment::to_document(p_.given)},
        {"resolved.json", base::to_text(experiment::to_json(p_.resolved), 2) + "\n"},
        {"plan.txt", plan::to_text(plan_)}})
    if (auto written = base::write_file_atomically(p_.run_directory / name, text); !written)
      return written;
  return {};
}

Result<void> Coordination::open() {
  auto plan = strategy::make_plan(p_.resolved);
  if (!plan) return base::fail(plan.error());
  plan_ = std::move(*plan);
  plan_hash_ = plan::hash(plan_);
  if (auto written = write_documents(); !written) return written;
  auto journal = Journal::open(p_.run_directory, header(), plan_,
                               {p_.resolved.document.run.recording_limit_bytes, p_.resolved.steps},
                               p_.started_ns);
  if (!journal) return base::fail(journal.error());
  journal_.emplace(std::move(*journal));
  if (experiment::has_partial_parameters(p_.resolved))
    committer_.emplace(p_.run_directory / "checkpoints", plan_hash_, count_parts(p_.resolved),
                       false);
  else if (p_.resolved.servers > 0 &&
           p_.resolved.document.run.clock == experiment::RunClock::machine)
    committer_.emplace(p_.run_directory / "checkpoints", plan_hash_, p_.resolved.servers,
                       p_.resolved.model.state_elements > 0);
  else if (p_.resolved.is_on_other_machine(p_.resolved.chief))
    committer_.emplace(p_.run_directory / "checkpoints", plan_hash_, 1, false);
  if (p_.make_compute && generates_text_from_checkpoints(p_.resolved))
    text_generator_.emplace(p_.run_directory / "checkpoints", p_.resolved, p_.make_compute);
  pacer_.begin_at(p_.resolved.first_step);
  if (p_.resolved.first_step > 0)
    say("info", fmt::format("resumes from the checkpoint of step {} in {}",
                            base::format_count(p_.resolved.first_step),
                            p_.resolved.document.run.resume_from));
  for (const base::Problem& problem : p_.skipped) say("warning", base::to_string(problem));
  if (const auto estimate = estimate_recording(p_.resolved, plan_); estimate.thinned_from_step >= 0)
    say("info", "recording: " + recording_line(estimate));
  set_state(RunState::starting);
  return base::write_file_atomically(p_.run_directory / "control", p_.server->endpoint() + "\n");
}

namespace {

// Adds two numbers to the recording's header: how many ranks report each step, and how many steps
// are between evaluations. One rank, which may be another one each time, reports an evaluation.
void add_reports(const experiment::Resolved& resolved, Json& header) {
  const experiment::ServerSpec& servers = resolved.document.strategy.servers;
  const bool is_lockstep = experiment::is_lockstep(servers);
  header["reports_of_step"] =
      is_lockstep ? experiment::gradients_per_update(servers, resolved.workers()) : 1;
  // with backup workers, more workers report a step than the server applies gradients of
  if (header["reports_of_step"] != 1 && header["reports_of_step"] != resolved.workers())
    header["only_applied"] = true;
  header["first_server"] = resolved.workers();
  header["reports_of_evaluation"] = 1;
  header["steps_apart"] = std::max<std::int64_t>(1, resolved.document.run.evaluate_every_steps);
  if (resolved.evaluators > 0) header["evaluator"] = resolved.trainers_and_servers();
}

}  // namespace

Json Coordination::header() const {
  Json segments = Json::array();
  for (const model::Segment& segment : p_.resolved.model.segments) segments.push_back(segment.name);
  Json header{{"schema", telemetry::kRecordingSchema},
              {"software", TRAINYARD_VERSION},
              {"run", p_.run_directory.filename().string()},
              {"ranks", p_.resolved.world()},
              {"segments", segments},
              {"generation", 1},
              {"plan_hash", plan_hash_},
              {"started_unix_seconds", std::time(nullptr)},
              {"cores", base::usable_cores()},
              {"experiment", experiment::to_json(p_.resolved)}};
  if (p_.resolved.servers > 0) add_reports(p_.resolved, header);
  header["buffer_bytes"] = header["padding_bytes"] = Json::array();
  for (std::int32_t r = 0; r < plan_.ranks; ++r) {
    const plan::RankPlan plan = plan_.rank_plan(r);
    const run::MemoryUse use = run::memory_use(plan, run::layout(plan));
    header["buffer_bytes"].push_back(use.bytes);
    header["padding_bytes"].push_back(use.padding);
  }
  if (p_.resolved.first_step > 0) header["first_step"] = p_.resolved.first_step;
  if (const auto shrinks = experiment::lambda_2(p_.resolved)) header["lambda_2"] = *shrinks;
  return header;
}

Result<void> Coordination::launch() {
  const auto names = rank_names(p_.resolved);
  const topology::Network network(p_.resolved.document.topology);
  LaunchRequest request;
  for (int r = 0; r < p_.resolved.world(); ++r) {
    RankEntry entry;
    entry.identity = {r, new_token(), p_.server->rank_endpoint()};
    entry.name = names[static_cast<std::size_t>(r)];
    const topology::Device& device = network.device(p_.resolved.ranks[static_cast<std::size_t>(r)]);
    entry.slow_down = device.slow_down;
    entry.jitter = device.jitter;
    request.ranks.push_back(entry.identity);
    request.shared_bytes.push_back(
        static_cast<std::size_t>(run::layout(plan_.rank_plan(r)).shared_bytes));
    entries_.push_back(std::move(entry));
  }
  request.experiment = &p_.resolved;
  request.channels = static_cast<int>(plan_.groups.size());
  request.run_directory = p_.run_directory;
  request.is_canceled = [this] { return p_.interrupts && p_.interrupts() > 0; };
  auto launched = p_.launch(request);
  if (!launched) return base::fail(launched.error());
  launch_again_ = std::move(launched->again);
  files_ = std::move(launched->files);
  set_link_ = std::move(launched->set_link);
  cpu_level_ = launched->cpu_level;
  say("info",
      fmt::format("started {}, plan {}", base::counted(std::ssize(entries_), "rank"), plan_hash_));
  for (std::size_t r = 0; r < entries_.size(); ++r) {
    entries_[r].handle = std::move(launched->ranks[r]);
    entries_[r].process = entries_[r].handle->process();
    exits_.add(entries_[r].handle->end_descriptor());
  }
  p_.server->wake_on(exits_.descriptor());
  begun_ns_ = base::now_nanoseconds();
  return {};
}

}  // namespace trainyard::session
