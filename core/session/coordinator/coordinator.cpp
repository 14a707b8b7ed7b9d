// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/coordinator/coordinator.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <thread>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/compression.h"
#include "core/experiment/engine.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mixing_matrix.h"
#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/session/coordinator/coordination.h"
#include "core/session/coordinator/run_result.h"
#include "core/session/protocol/timeouts.h"

namespace trainyard::session {
namespace {

using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Result;

constexpr std::chrono::milliseconds kTick{10};
constexpr std::int64_t kSecond = 1'000'000'000;      // One second in nanoseconds.
constexpr std::int64_t kSuspension = kSecond / 2;    // Longer ticks count as a suspension.
constexpr std::int64_t kFlushPeriod = kSecond / 20;  // Time between two flushes of the recording.
// A starting process that uses no CPU time for this long hangs.
constexpr std::int64_t kIdleLimit = 4 * kSecond;
constexpr std::int64_t kObservePeriod = kSecond / 5;
constexpr std::int64_t kKeepAlive = kSecond;  // Interval of messages to the ranks.
// Nanoseconds to wait for the plan hashes and versions of the other ranks after one rank reports a
// mismatch. The problem then lists the values of all ranks.
constexpr std::int64_t kTableTime = kSecond;
constexpr std::int64_t kEndLimit = 5 * kSecond;  // Time for ranks to exit after they finish.
constexpr std::int64_t kAbortLimit = kSecond;    // Time for ranks to exit after an abort.
constexpr std::int64_t kCommitLimit =
    kSecond / 2;  // If the run fails: time to commit a checkpoint whose parts are all written.

bool all_over(std::span<const RankEntry> entries) {
  return std::ranges::all_of(entries,
                             [](const RankEntry& entry) { return entry.finished || entry.lost; });
}

Problem canceled() {
  return {"canceled", ProblemCode::canceled, "", "the run was canceled", "", ""};
}

}  // namespace

Result<CoordinatorResult> Coordination::run() {
  if (const auto ok = open(); !ok) return base::fail(ok.error());
  if (const auto ok = launch(); !ok) end(RunState::failed, ok.error());
  while (!over()) tick();
  return close();
}

// Main loop

void Coordination::tick() {
  receive_all();
  exits_.clear();
  const std::int64_t now = base::now_nanoseconds();
  exclude_own_pause(now);
  check_processes(now);
  check_failure_reports(now);
  check_interrupts();
  check_suspension();
  check_agreement(now);
  if (!ended_ && state_ == RunState::starting && now - begun_ns_ > kStartLimit)
    end(RunState::failed, not_started(entries_, base::seconds(kStartLimit)));
  check_begins(now);
  check_heartbeats(now);
  restart_lost_ranks();
  check_journal();
  check_commits();
  collect_generated_text();
  if (training()) update_pacing(now);
  if (ended_ && now > kill_ns_) kill_remaining_ranks();
  housekeeping(now);
}

void Coordination::receive_all() {
  for (int i = 0; i < 256; ++i) {
    const auto received = p_.server->receive(i == 0 ? kTick : std::chrono::milliseconds(0));
    if (!received) return end(RunState::failed, received.error());
    if (!*received) return;
    std::visit([&](const auto& message) { take((*received)->from, message); },
               (*received)->message);
  }
}

void Coordination::check_processes(std::int64_t now) {
  for (RankEntry& entry : entries_) {
    if (entry.reported_end || !entry.handle) continue;
    const auto how = entry.handle->ended();
    if (!how || entry.finished) continue;
    // Waits for messages that the rank sent before it exited: a message explains a failure better
    // than an exit status.
    if (!entry.handle->killed() && !entry.end.over(now)) continue;
    entry.reported_end = true;
    if (ended_) continue;
    if (entry.returning) abandon_rejoin(entry, *how);
    else if (entry.lost) continue;  // The rank was unresponsive, and this coordinator killed it.
    else if (can_continue_without(entry))
      mark_lost(entry, liveness_monitor_.died(entry.identity.rank, *how).what);
    else
      end(RunState::failed,
          add_earlier_losses(liveness_monitor_.died(entry.identity.rank, *how), entry));
  }
}

// Ends the run because of a failure that a rank reported. Waits a moment first. If the report says
// that a peer is gone, the coordinator may then notice the exit of this peer itself, which explains
// the failure better.
void Coordination::check_failure_reports(std::int64_t now) {
  if (reported_ && !ended_ && reported_since_.over(now)) end(RunState::failed, *reported_);
}

void Coordination::check_interrupts() {
  const int interrupts = p_.interrupts ? p_.interrupts() : 0;
  if (interrupts >= 1 && !canceling_) {
    canceling_ = true;
    stop();
  }
  if (interrupts >= 2) end(RunState::canceled, canceled());
}

// Extends time limits by the time for which this process was suspended.
void Coordination::exclude_own_pause(std::int64_t now) {
  const std::int64_t gap = ticked_ns_ == 0 ? 0 : now - ticked_ns_;
  ticked_ns_ = now;
  if (gap <= kSuspension) return;
  begun_ns_ += gap;
  for (RankEntry& entry : entries_) entry.cpu_used_ns = 0;
  if (disagreed_ns_ > 0) disagreed_ns_ += gap;
  if (ended_) kill_ns_ += gap;
}

// Suspends the ranks and this process if the user presses Ctrl-Z. Ranks that were stalled before
// stay stalled when the run continues.
void Coordination::check_suspension() {
  if (!p_.job_control.requested()) return;
  say("info", "the run is suspended");
  journal_->flush();
  const auto stall_all = [this](bool on) {
    for (RankEntry& entry : entries_)
      if (entry.handle && !entry.stalled && !entry.handle->ended()) entry.handle->stall(on);
  };
  stall_all(true);
  const std::int64_t begun = base::now_nanoseconds();
  p_.job_control.suspend();
  stall_all(false);
  say("info", fmt::format("the run continues after {}",
                          base::format_seconds(base::seconds(base::now_nanoseconds() - begun))));
}

// Waits a moment for the reports of the other ranks, so that the table in the problem shows which
// rank differs.
void Coordination::check_agreement(std::int64_t now) {
  struct Subject {
    const char* of;
    std::string RankEntry::*value;
    std::string expected;
  };
  for (const Subject& subject : {Subject{"software", &RankEntry::software, TRAINYARD_VERSION},
                                 Subject{"plan", &RankEntry::plan_hash, plan_hash_}}) {
    if (ended_ || !any_differs(entries_, subject.value, subject.expected)) continue;
    if (disagreed_ns_ == 0) disagreed_ns_ = now;
    if (all_reported(entries_, subject.value) || now - disagreed_ns_ > kTableTime)
      end(RunState::failed, disagreement(entries_, subject.of, subject.value, subject.expected));
  }
}

// Detects a rank that hangs before its first heartbeat: its process uses no CPU time. A process
// that computes or loads libraries may take longer, until kStartLimit.
void Coordination::check_begins(std::int64_t now) {
  for (RankEntry& entry : entries_) {
    const bool begins =
        entry.returning || (state_ == RunState::starting && !entry.lost && !entry.finished);
    const bool no_heartbeat = entry.returning
                                  ? entry.peer.empty()
                                  : liveness_monitor_.has_no_heartbeat(entry.identity.rank);
    if (ended_ || !begins || !no_heartbeat || !entry.handle || entry.handle->ended()) continue;
    const auto cpu = entry.handle->cpu_seconds();
    if (!cpu || *cpu != entry.cpu_seconds || entry.cpu_used_ns == 0) {
      entry.cpu_seconds = cpu.value_or(0);
      entry.cpu_used_ns = now;
    } else if (now - entry.cpu_used_ns > kIdleLimit) {
      const base::Problem problem =
          liveness_monitor_.not_begun(entry.identity.rank, base::seconds(kIdleLimit));
      entry.handle->kill();
      if (entry.returning) say("warning", problem.what, entry.identity.rank);
      else end(RunState::failed, problem);
    }
  }
}

void Coordination::check_heartbeats(std::int64_t now) {
  if (ended_) return;
  for (RankEntry& entry : entries_)
    if (entry.handle)
      liveness_monitor_.set_host_silence(entry.identity.rank, entry.handle->host_silent_seconds(),
                                         now);
  for (RankEntry& entry : entries_)
    if (liveness_monitor_.is_unresponsive(entry.identity.rank, now) && can_continue_without(entry))
      mark_lost(entry, fmt::format("stopped responding {} ago; its last heartbeat was {}",
                                   base::format_seconds(p_.unresponsive_seconds),
                                   liveness_monitor_.place(entry.identity.rank)));
  auto problem = liveness_monitor_.judge(pacer_.horizon(), now);
  if (!problem) return;
  // After the end of training, the rank that the problem names can only be an evaluator.
  if (trained_ && drop_evaluators(problem->what)) return;
  end(RunState::failed, std::move(problem));
  // Kills unresponsive ranks, because they do not react to an abort.
  for (RankEntry& entry : entries_)
    if (liveness_monitor_.is_unresponsive(entry.identity.rank, now) && entry.handle)
      entry.handle->kill();
}

void Coordination::check_journal() {
  if (journal_->failure()) cannot_record(*journal_->failure());
}

// Takes the outcome of commits. If the last checkpoint cannot be committed, the run has failed.
void Coordination::check_commits() {
  const auto outcome = committer_ ? committer_->look() : std::nullopt;
  if (!outcome) return;
  uncommitted_ = outcome->problem;
  if (!outcome->problem) {
    say("info", fmt::format("checkpoint of step {}, {}", base::format_count(outcome->step),
                            base::format_bytes(static_cast<double>(outcome->bytes))));
    if (text_generator_) text_generator_->notify(outcome->step);
    return notify_evaluators();
  }
  say("warning",
      fmt::format("the checkpoint of step {} could not be committed: {}",
                  base::format_count(outcome->step), base::to_string(*outcome->problem)));
}

void Coordination::collect_generated_text() {
  const auto text = text_generator_ ? text_generator_->look() : std::nullopt;
  if (text)
    say(*text ? "text" : "warning",
        *text ? **text
              : fmt::format("text could not be generated: {}", base::to_string(text->error())));
}

// Waits for a commit in progress when a run fails, so that the message can name that checkpoint for
// resuming.
void Coordination::await_checkpoint() {
  const std::int64_t until = base::now_nanoseconds() + kCommitLimit;
  while (committer_ && committer_->busy() && base::now_nanoseconds() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    check_commits();
  }
}

void Coordination::update_pacing(std::int64_t now) {
  std::int64_t slowest = p_.resolved.steps;
  for (const RankEntry& entry : entries_)
    if (!entry.finished && !entry.lost && counts(entry))
      slowest = std::min(slowest, liveness_monitor_.last(entry.identity.rank).step);
  const bool stepping = pacer_.stepping();
  pacer_.at_step(slowest);
  if (stepping && !pacer_.stepping())
    say("info",
        fmt::format("single step done: {} of {} steps", base::format_count(pacer_.horizon()),
                    base::format_count(p_.resolved.steps)));
  const auto grant = pacer_.grant(now);
  if (grant || now - last_broadcast_ns_ > kKeepAlive) {
    last_broadcast_ns_ = now;
    last_grant_ = grant.value_or(last_grant_);
    last_grant_.chief = chief();
    broadcast(last_grant_);
  }
  if (state_ == RunState::pausing && pacer_.pausing() && pacer_.at_horizon())
    set_state(RunState::paused);
  if (!trained_ && trained()) {
    trained_ = true;
    notify_evaluators();
  }
  if (trained_ && all_over(entries_)) finish();
}

// True if all trainers and servers are done and no commit or text generation is in progress.
// Evaluators may still have to measure the last checkpoint.
bool Coordination::trained() const {
  return all_over(std::span(entries_).first(
             static_cast<std::size_t>(p_.resolved.trainers_and_servers()))) &&
         !(committer_ && committer_->busy()) && !(text_generator_ && text_generator_->busy());
}

void Coordination::housekeeping(std::int64_t now) {
  if (now - flushed_ns_ > kFlushPeriod) {
    flushed_ns_ = now;
    journal_->flush();
    journal_->restore_removed();
  }
  // The observer is not called here at the end of the run. `close` calls it with the final state,
  // when nothing waits for the observer any more.
  if (p_.observe && !ended_ && now - observed_ns_ > kObservePeriod) {
    observed_ns_ = now;
    p_.observe(status(0), journal_->history());
  }
}

// End of a run

bool Coordination::over() const {
  return ended_ && std::all_of(entries_.begin(), entries_.end(), [](const RankEntry& entry) {
           return !entry.handle || entry.handle->ended();
         });
}

void Coordination::stop() {
  if (ended_) return;
  if (state_ == RunState::starting) return end(RunState::canceled, canceled());
  pacer_.stop();
  set_state(RunState::stopping);
}

void Coordination::finish() {
  for (const std::vector<int>& alike : experiment::identical_parameter_groups(p_.resolved))
    if (auto problem = different_weights(entries_, alike))
      return end(RunState::failed, std::move(problem));
  if (removed_) return end(RunState::failed, removed_);
  if (uncommitted_) return end(RunState::failed, uncommitted_);
  if (canceling_) return end(RunState::canceled, canceled());
  end(pacer_.horizon() < p_.resolved.steps ? RunState::stopped : RunState::finished, std::nullopt);
}

void Coordination::end(RunState state, std::optional<Problem> problem) {
  if (ended_) return;
  const bool was_training = training();
  ended_ = true;
  problem_ = std::move(problem);
  set_state(state);  // before waiting for the checkpoint, so that views show a failure at once
  if (!ended_well(state) && problem_) broadcast(Abort{*problem_});
  if (problem_ && state == RunState::failed) {
    await_checkpoint();
    problem_->advice += resume_advice(was_training);
  }
  if (problem_ && state != RunState::canceled) say("error", base::to_string(*problem_));
  kill_ns_ = base::now_nanoseconds() + (ended_well(state) ? kEndLimit : kAbortLimit);
}

void Coordination::kill_remaining_ranks() {
  for (RankEntry& entry : entries_)
    if (entry.handle && !entry.handle->ended()) entry.handle->kill();
}

Result<CoordinatorResult> Coordination::close() {
  const std::int64_t now = base::now_nanoseconds();
  if (const auto malformed_count = p_.server->malformed(); malformed_count > 0)
    say("warning",
        std::to_string(malformed_count) +
            " control messages were dropped, because they were damaged or from another program");
  if (ended_well(state_) && p_.simulated_step_seconds)
    simulated_step_seconds_ = p_.simulated_step_seconds();
  journal_->restore_removed();
  check_journal();
  journal_->conclude();
  journal_->result(result(now));
  journal_->close();
  check_journal();
  if (!directory_replaced_)
    if (const auto ok = base::write_file_atomically(p_.run_directory / "result.json",
                                                    base::to_text(result(now), 2) + "\n");
        !ok)
      cannot_record(ok.error());
  std::error_code ignored;
  std::filesystem::remove(p_.run_directory / "control", ignored);
  if (p_.observe) p_.observe(status(0), journal_->history());
  return CoordinatorResult{result(now), state_, problem_};
}

std::optional<std::int64_t> Coordination::resumable_step() const {
  return p_.resolved.servers > 0 && committer_ && committer_->committed_step() >= 0
             ? std::optional(committer_->committed_step())
             : std::nullopt;
}

// Returns the last sentence of the advice for a run that failed in training: how to resume it.
std::string Coordination::resume_advice(bool was_training) const {
  if (const auto step = resumable_step())
    return fmt::format(
        " The checkpoint of step {} is complete: resume from it with --resume {} "
        "(run.resume_from).",
        base::format_count(*step), p_.run_directory.string());
  if (p_.resolved.servers == 0 || !committer_ || !was_training) return "";
  const std::int64_t every = p_.resolved.document.run.checkpoint_every_steps;
  return every > 0 ? fmt::format(
                         " No checkpoint was complete yet. One is written every {} steps "
                         "(run.checkpoint_every_steps).",
                         base::format_count(every))
                   : " The run wrote no checkpoint. If run.checkpoint_every_steps is set, another "
                     "run can resume from the last checkpoint.";
}

Json Coordination::result(std::int64_t now) const {
  RunFacts facts{state_,
                 problem_,
                 base::seconds(now - p_.started_ns),
                 p_.started_ns,
                 {},
                 p_.run_directory,
                 {},
                 simulated_step_seconds_,
                 p_.resolved.document.data.sharding.kind,
                 p_.resolved.shards,
                 p_.resolved.document.run,
                 p_.resolved.document.strategy.compression,
                 experiment::engine_of(p_.resolved),
                 p_.resolved.document.training.multiplies};
  if (const auto savings = experiment::savings(p_.resolved)) facts.sent_ratio = savings->sent;
  facts.columns = experiment::columns_by_rank(p_.resolved);
  facts.lambda_2 = experiment::lambda_2(p_.resolved);
  facts.cpu_level = cpu_level_;
  if (std::ranges::any_of(p_.resolved.document.topology.hosts, experiment::is_other_machine))
    facts.encryption = p_.resolved.document.network.encryption;
  for (const RankEntry& entry : entries_)
    facts.clocks.push_back(entry.handle ? entry.handle->clock_offset() : std::nullopt);
  if (journal_) facts.thinning = journal_->thinning();
  facts.first_step = p_.resolved.first_step;
  if (state_ == RunState::finished) {
    facts.last_step = p_.resolved.steps;
    if (p_.resolved.servers > 0)
      facts.assigned_samples =
          p_.resolved.shares().samples_between(p_.resolved.first_step, p_.resolved.steps);
  }
  facts.skipped_checkpoints = p_.skipped;
  facts.committed_step = resumable_step();
  for (const RankEntry& entry : entries_) facts.finished.push_back(entry.finished);
  facts.finished.resize(static_cast<std::size_t>(p_.resolved.world()));
  for (int r = 0; r < p_.resolved.world(); ++r)
    facts.duties.emplace_back(experiment::duty_of(p_.resolved.document, r));
  const topology::Network network(p_.resolved.document.topology);
  for (const topology::DeviceId device : p_.resolved.ranks)
    facts.emulated.push_back(experiment::is_emulated(network.device(device)));
  return run_result(facts, journal_->history());
}

// Ends the run cleanly if the recording cannot be written, for example on a full disk. What was
// recorded so far stays valid. If another program removed or shortened files, the run stops after
// the current step, so that the ranks save their weights.
void Coordination::cannot_record(const Problem& problem) {
  if (recording_failed_) return;
  recording_failed_ = true;
  Problem text = problem;
  const bool is_removed = problem.id == "recording_removed",
             can_stop = is_removed || problem.id == "recording_truncated";
  directory_replaced_ = problem.id == "recording_replaced";
  if (is_removed) static_cast<void>(write_documents());
  if (!can_stop && !directory_replaced_)
    text.advice =
        "Free space, or make the run directory writable, and run again; what was recorded until "
        "now "
        "can be opened.";
  if (can_stop && training()) {
    removed_ = text;
    return stop();
  }
  if (!ended_) return end(RunState::failed, text);
  // Keeps the problem of a run that has already failed, because the earlier failure explains more.
  if (!ended_well(state_)) return;
  // Training is complete, but the end of the recording could not be written, so the run counts as
  // failed.
  state_ = RunState::failed;
  problem_ = text;
}

Result<CoordinatorResult> coordinate(CoordinatorParts parts) {
  return Coordination(std::move(parts)).run();
}

}  // namespace trainyard::session
