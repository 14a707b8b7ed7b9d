// SPDX-License-Identifier: GPL-3.0-or-later
// State and main loop of the coordinator for one run. Starting is in coordinator_start.cpp, the
// loop and the ends of a run in coordinator.cpp, messages in coordinator_messages.cpp, failed and
// rejoined ranks in coordinator_faults.cpp.
#pragma once

#include <map>
#include <set>

#include "core/session/checkpoint/committer.h"
#include "core/session/checkpoint/received_parts.h"
#include "core/session/coordinator/journal.h"
#include "core/session/coordinator/liveness_monitor.h"
#include "core/session/coordinator/pacer.h"
#include "core/session/coordinator/rank_entry.h"
#include "core/session/system/process_exits.h"

namespace trainyard::session {

class Coordination {
 public:
  explicit Coordination(CoordinatorParts parts);
  base::Result<CoordinatorResult> run();

 private:
  base::Result<void> open();
  base::Result<void> write_documents() const;  // experiment, resolved experiment and plan
  base::Json header() const;
  base::Result<void> launch();

  // Functions of the main loop. Each one checks one condition and may end the run.
  void tick();
  void receive_all();
  void check_processes(std::int64_t now);
  void check_failure_reports(std::int64_t now);
  void check_interrupts();
  void check_suspension();
  void check_begins(std::int64_t now);
  void exclude_own_pause(std::int64_t now);
  void check_agreement(std::int64_t now);
  void check_heartbeats(std::int64_t now);
  void restart_lost_ranks();
  void check_journal();
  void check_commits();
  void collect_generated_text();
  void await_checkpoint();
  void update_pacing(std::int64_t now);
  void housekeeping(std::int64_t now);

  // Handlers of messages from ranks and viewers. `entry_of` returns null if the peer is not
  // connected as this rank.
  RankEntry* entry_of(const PeerId& peer, std::int32_t rank);
  void take(const PeerId& from, const Hello& hello);
  Assign assignment_of(const RankEntry& entry) const;
  // Returns what to add to a time on the clock of the rank's machine, in nanoseconds.
  static std::int64_t clock_correction_ns(const RankEntry& entry);
  void take(const PeerId& from, const Planned& planned);
  void take(const PeerId& from, const Progress& progress);
  void take(const PeerId& from, const Events& events);
  void take(const PeerId& from, const Samples& samples);
  void take(const PeerId& from, const Order& order);
  void take(const PeerId& from, const SavedPiece& piece);
  void take(const PeerId& from, const Saved& saved);
  void take(const PeerId& from, const Log& log);
  void take(const PeerId& from, const Failed& failed);
  void take(const PeerId& from, const Finished& finished);
  void record_traffic(const Finished& finished);
  void take(const PeerId& from, const Ask& ask);  // Handles a message of a viewer.
  template <class Other>  // Ignores messages that the coordinator does not expect.
  void take(const PeerId&, const Other&) {}
  void refuse(const PeerId& unknown_peer, const Hello& hello);
  void start_training();
  void carry_out(const Ask& ask);
  void slow(const Slow& asked);
  void inject_fault(const Ask& ask);
  void inject_fault(const LinkBandwidth& asked);
  void stop();  // Stops in order; immediately if training has not started.
  RunState training_state() const {
    return pacer_.pausing() ? RunState::pausing : RunState::running;
  }
  Status status(std::uint64_t answers) const;
  std::string rank_state(const RankEntry& entry, const Progress& last) const;

  // Functions for failed ranks: decide if the run continues without a rank, and restart it.
  base::Problem add_earlier_losses(base::Problem problem, const RankEntry& entry) const;
  bool can_continue_without(const RankEntry& entry) const;
  void mark_lost(RankEntry& entry, const std::string& why);
  void restart_rank(RankEntry& entry);
  void rejoin(RankEntry& entry);
  void abandon_rejoin(RankEntry& entry, const std::string& how);
  void fault(const std::string& kind, const RankEntry& entry, const std::string& text);
  bool servers_finished() const;
  bool trained() const;
  std::string describe_remaining(const RankEntry& lost) const;
  void notify_evaluators();
  void notify_evaluator(const RankEntry& entry);
  bool drop_evaluators(const std::string& why);  // Returns false if no evaluator could be dropped.
  std::int64_t remaining_workers() const;
  int chief() const;
  void announce_gone(RankEntry& entry);

  // End of a run.
  bool training() const { return !ended_ && state_ != RunState::starting; }
  bool over() const;
  void finish();
  void end(RunState state, std::optional<base::Problem> problem);
  void kill_remaining_ranks();
  base::Result<CoordinatorResult> close();
  base::Json result(std::int64_t now) const;
  std::string resume_advice(bool was_training) const;
  // Returns the step of the newest complete checkpoint, from which another run can resume.
  std::optional<std::int64_t> resumable_step() const;
  void cannot_record(const base::Problem& problem);

  void set_state(RunState state);
  std::int64_t clock_ns() const;  // Time on the clock of the recording.
  void record_state(const base::Json& fault = nullptr);
  // True if the run's step is determined from the steps of ranks such as this one.
  bool counts(const RankEntry& entry) const;
  std::int64_t slowest_step() const;
  void say(const std::string& level, const std::string& text, int rank = -1);
  void broadcast(const Message& message);

  CoordinatorParts p_;
  ProcessExits exits_;
  decltype(Launched::again) launch_again_;
  decltype(Launched::set_link) set_link_;
  int cpu_level_ = 0;  // as Launched::cpu_level
  decltype(Launched::files) files_;
  // Links with an injected fault: by link number, the remaining fraction of the drawn bandwidth.
  // Other links have no entry.
  std::map<std::int32_t, double> links_;
  plan::Plan plan_;
  std::string plan_hash_;
  std::uint64_t run_key_;  // Random number that identifies this run in frames of the data plane.
  std::optional<Journal> journal_;
  // Commits checkpoints whose parts are written by servers, by ranks that hold only some of the
  // parameters, or by a chief on another machine. Not set if a chief on this machine writes
  // complete checkpoints.
  std::optional<Committer> committer_;
  ReceivedParts received_parts_;
  // Generates text from committed checkpoints, if no rank has the full model.
  std::optional<TextGenerator> text_generator_;
  Pacer pacer_;
  LivenessMonitor liveness_monitor_;
  RankEntries entries_;
  // Pairs of a peer (connection) and a rank that it represents. One peer may represent several
  // ranks.
  std::set<std::pair<PeerId, std::int32_t>> peers_;
  std::map<PeerId, std::uint64_t> asked_;
  Horizon last_grant_;
  RunState state_ = RunState::starting;
  RunState logged_ = RunState::starting;  // Last state that was written to the log.
  std::optional<base::Problem> problem_;
  std::optional<double> simulated_step_seconds_;
  std::optional<base::Problem> reported_;  // First failure reported by a rank.
  GracePeriod reported_since_;
  // True if another program's files are in the place of this run's: they are not overwritten.
  bool directory_replaced_ = false;
  bool ended_ = false, canceling_ = false, recording_failed_ = false;
  // Problem of committing the last complete checkpoint; none if it was committed.
  std::optional<base::Problem> uncommitted_;
  std::optional<base::Problem> removed_;  // Problem of files that were removed during the run.
  bool trained_ = false;  // True once training has ended and evaluators have been notified.
  std::int64_t latest_event_ns_ = 0;  // Time of the latest event reported by ranks.
  std::int64_t unknown_peers_ = 0, restarts_ = 0;
  std::int64_t ticked_ns_ = 0;  // time of the last tick
  std::int64_t begun_ns_ = 0, disagreed_ns_ = 0, flushed_ns_ = 0, observed_ns_ = 0,
               last_broadcast_ns_ = 0, kill_ns_ = 0;
};

}  // namespace trainyard::session
