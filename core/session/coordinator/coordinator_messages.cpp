// SPDX-License-Identifier: GPL-3.0-or-later
// Messages from ranks and viewers to the coordinator, its replies, and its own log.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/imposed.h"
#include "core/session/coordinator/coordination.h"
#include "core/session/coordinator/run_result.h"
#include "core/session/system/shared_files.h"

namespace trainyard::session {
namespace {

using base::ProblemCode;

// Returns the text that a rank reported, or "(none)" if it is empty, that is, if the rank has not
// reported yet.
std::string or_none(const std::string& text) { return text.empty() ? "(none)" : text; }

telemetry::Event dropped(std::uint64_t total, std::int64_t step, std::int64_t now) {
  telemetry::Event event;
  event.begin_ns = event.ready_ns = event.end_ns = now;
  event.value = static_cast<double>(total);
  event.step = static_cast<std::int32_t>(step);
  event.subject = static_cast<std::uint16_t>(telemetry::Metric::dropped_events);
  return event;
}

std::vector<telemetry::Event> on_own_clock(std::vector<telemetry::Event> events,
                                           std::int64_t correction_ns) {
  for (telemetry::Event& event : events)
    for (std::int64_t* time : {&event.begin_ns, &event.ready_ns, &event.end_ns})
      *time += correction_ns;
  return events;
}

}  // namespace

RankEntry* Coordination::entry_of(const PeerId& peer, std::int32_t rank) {
  return peers_.contains({peer, rank}) ? &entries_[static_cast<std::size_t>(rank)] : nullptr;
}

void Coordination::take(const PeerId& from, const Hello& hello) {
  if (hello.rank < 0 || static_cast<std::size_t>(hello.rank) >= entries_.size()) return;
  RankEntry& entry = entries_[static_cast<std::size_t>(hello.rank)];
  if (hello.token != entry.identity.token) return refuse(from, hello);
  peers_.emplace(from, hello.rank);
  // If the rank's main connection is already known, this Hello came over its heartbeat connection.
  if (!entry.peer.empty()) return;
  entry.peer = from;
  if (ended_ && problem_) return p_.server->send(from, Abort{*problem_});
  entry.software = or_none(hello.software);
  if (hello.process > 0) entry.process = hello.process;
  if (entry.software == TRAINYARD_VERSION) p_.server->send(from, assignment_of(entry));
}

Assign Coordination::assignment_of(const RankEntry& entry) const {
  const int rank = entry.identity.rank;
  const auto elsewhere = files_.find(rank);
  const experiment::Resolved resolved =
      elsewhere == files_.end() ? p_.resolved : with_files_below(elsewhere->second, p_.resolved);
  return {base::to_text(experiment::to_json(resolved)), entry.generation, run_key_,
          p_.resolved.is_on_other_machine(rank) ? "" : p_.run_directory.string()};
}

void Coordination::refuse(const PeerId& unknown_peer, const Hello& hello) {
  const std::string name = fmt::format("rank {}", hello.rank);
  p_.server->send(unknown_peer, Abort{{"foreign_rank", ProblemCode::refused, name,
                                       "the rank was not started by this coordinator", "",
                                       "Ranks are started by: trainyard-cli run EXPERIMENT"}});
  if (unknown_peers_++ == 0)
    say("warning",
        fmt::format("refused a process that claims to be {} but was not started by this run",
                    name));
}

void Coordination::take(const PeerId& from, const Planned& planned) {
  RankEntry* entry = entry_of(from, planned.rank);
  if (entry == nullptr || entry->planned || ended_) return;
  entry->planned = true;
  entry->plan_hash = or_none(planned.plan_hash);
  entry->endpoint = planned.endpoint;
  if (entry->returning && entry->plan_hash == plan_hash_) return rejoin(*entry);
  const auto agrees = [&](const RankEntry& s) { return s.planned && s.plan_hash == plan_hash_; };
  if (std::all_of(entries_.begin(), entries_.end(), agrees)) start_training();
}

void Coordination::start_training() {
  Start start{{}, plan_hash_};
  for (const RankEntry& entry : entries_) start.endpoints.push_back(entry.endpoint);
  broadcast(start);
  for (const RankEntry& entry : entries_)
    if (entry.slow_requested)
      p_.server->send(entry.peer, Slow{entry.identity.rank, entry.slow_down, entry.jitter});
  const std::int64_t now = base::now_nanoseconds();
  liveness_monitor_.start(now);
  set_state(training_state());
  update_pacing(now);
}

void Coordination::take(const PeerId& from, const Progress& progress) {
  if (entry_of(from, progress.rank) != nullptr)
    liveness_monitor_.heard(progress, base::now_nanoseconds());
}

std::int64_t Coordination::clock_correction_ns(const RankEntry& entry) {
  const auto offset = entry.handle ? entry.handle->clock_offset() : std::nullopt;
  return offset ? -std::llround(offset->seconds * 1e9) : 0;
}

void Coordination::take(const PeerId& from, const Events& events) {
  RankEntry* entry = entry_of(from, events.rank);
  if (entry == nullptr || events.events.empty()) return;
  const std::vector<telemetry::Event> corrected =
      on_own_clock(events.events, clock_correction_ns(*entry));
  journal_->keep_ops(pacer_.pausing());
  journal_->events(events.rank, corrected);
  for (const telemetry::Event& event : corrected) {
    latest_event_ns_ = std::max(latest_event_ns_, event.end_ns);
    if (event.kind == telemetry::EventKind::metric &&
        event.subject == static_cast<std::uint16_t>(telemetry::Metric::step_seconds))
      pacer_.step_took(event.value, events.rank);
  }
  if (events.dropped <= entry->dropped_events) return;
  entry->dropped_events = events.dropped;
  const telemetry::Event event = dropped(events.dropped, events.events.back().step, clock_ns());
  journal_->events(events.rank, std::span(&event, 1));
}

void Coordination::take(const PeerId& from, const Samples& samples) {
  if (entry_of(from, samples.rank) != nullptr)
    journal_->samples(samples.rank, std::as_bytes(std::span(samples.values)));
}

void Coordination::take(const PeerId& from, const SavedPiece& piece) {
  if (entry_of(from, piece.rank) == nullptr) return;
  p_.server->send(from, PieceReceived{piece.rank, piece.file, received_parts_.add(piece)});
}

void Coordination::take(const PeerId& from, const Saved& saved) {
  if (entry_of(from, saved.rank) == nullptr || !committer_) return;
  if (!saved.problem.empty())
    say("warning",
        fmt::format("its part of the checkpoint of step {} is missing: {}",
                    base::format_count(saved.step), saved.problem),
        saved.rank);
  committer_->take(saved, received_parts_.take(saved.rank, saved.file));
}

void Coordination::take(const PeerId& from, const Log& log) {
  if (const RankEntry* entry = entry_of(from, log.rank))
    journal_->log(
        {log.level, log.text, log.rank, entry->name, log.time_ns + clock_correction_ns(*entry)});
}

void Coordination::take(const PeerId& from, const Failed& failed) {
  RankEntry* entry = entry_of(from, failed.rank);
  if (entry == nullptr) return;
  if (servers_finished() && can_continue_without(*entry))
    return mark_lost(*entry, fmt::format("was too late: {}", failed.problem.what));
  if (p_.resolved.is_evaluator(failed.rank) && can_continue_without(*entry))
    return mark_lost(*entry, fmt::format("failed: {}", failed.problem.what));
  entry->reported_end = true;
  // Ignores the report if the rank only repeats the problem of the Abort that it received. Advice
  // may have been added since.
  if (problem_ && failed.problem.id == problem_->id && failed.problem.where == problem_->where &&
      failed.problem.what == problem_->what)
    return;
  say("error", base::to_string(failed.problem), failed.rank);
  if (!reported_) reported_ = failed.problem;
}

// Records the final totals of bytes of a rank that differ from the last recorded ones, so that the
// totals of a recording equal the result. Servers report their bytes only here.
void Coordination::record_traffic(const Finished& finished) {
  using telemetry::Metric;
  std::vector<telemetry::Event> events;
  const std::int64_t now_ns = clock_ns();
  for (std::size_t peer = 0; peer < finished.peers.size(); ++peer) {
    const RankTraffic& traffic = finished.peers[peer];
    for (const auto& [metric, bytes] :
         {std::pair(Metric::sent_payload_bytes, traffic.sent_payload_bytes),
          std::pair(Metric::received_payload_bytes, traffic.received_payload_bytes),
          std::pair(Metric::sent_header_bytes, traffic.sent_header_bytes),
          std::pair(Metric::received_header_bytes, traffic.received_header_bytes)}) {
      const telemetry::Series* known =
          journal_->history().find({metric, finished.rank, static_cast<int>(peer)});
      const bool recorded = known != nullptr && !known->values.empty();
      const auto total = static_cast<double>(bytes);
      if (recorded ? known->values.back() == total : bytes == 0) continue;
      const std::int32_t step =
          recorded ? known->steps.back()
                   : static_cast<std::int32_t>(std::max<std::int64_t>(finished.steps - 1, 0));
      telemetry::Event& event = events.emplace_back();
      event.begin_ns = event.ready_ns = event.end_ns = now_ns;
      event.value = total;
      event.step = step;
      event.subject = static_cast<std::uint16_t>(metric);
      event.index = static_cast<std::uint16_t>(peer);
    }
  }
  if (!events.empty()) journal_->events(finished.rank, events);
}

void Coordination::take(const PeerId& from, const Finished& finished) {
  RankEntry* entry = entry_of(from, finished.rank);
  if (entry == nullptr) return;
  entry->finished = finished;
  if (finished.first_step_done_ns > 0)
    entry->finished->first_step_done_ns += clock_correction_ns(*entry);
  record_traffic(finished);
  liveness_monitor_.done(finished.rank);
}

// Viewers

void Coordination::take(const PeerId& from, const Ask& ask) {
  std::uint64_t& last = asked_[from];
  if (ask.id > last) {
    last = ask.id;
    carry_out(ask);
  }
  p_.server->send(from, status(ask.id));
}

// Carries out a viewer's command. While ranks still start, `stop` ends the run immediately; other
// commands apply from the first step on. A stop cannot be reverted.
void Coordination::carry_out(const Ask& ask) {
  if (ended_ || pacer_.stopping()) return;
  switch (ask.command) {
    case Command::ask: return;
    case Command::pause: pacer_.pause(); break;
    case Command::resume: pacer_.resume(); break;
    case Command::single_step: pacer_.single_step(); break;
    case Command::stop: return stop();
    case Command::set_pace: pacer_.set_pace(ask.seconds_per_step); break;
    case Command::slow: return slow(ask.slow);
    case Command::kill:
    case Command::stall:
    case Command::wake:
    case Command::restart: return inject_fault(ask);
    case Command::link: return inject_fault(ask.link);
  }
  if (training()) set_state(ask.command == Command::set_pace ? state_ : training_state());
}

// Sends a slowdown to the rank and records it. A rank that has not started training yet gets it
// when it starts.
void Coordination::slow(const Slow& asked) {
  if (asked.rank < 0 || static_cast<std::size_t>(asked.rank) >= entries_.size()) return;
  if (!(asked.slow_down >= 1 && asked.slow_down <= 1000 && asked.jitter >= 0 && asked.jitter <= 10))
    return;
  RankEntry& entry = entries_[static_cast<std::size_t>(asked.rank)];
  entry.slow_down = asked.slow_down;
  entry.jitter = asked.jitter;
  entry.slow_requested = true;
  if (training() && !entry.peer.empty()) p_.server->send(entry.peer, asked);
  fault("slow", entry, experiment::slow_down_line(asked.slow_down, asked.jitter));
}

Status Coordination::status(std::uint64_t answers) const {
  Status status{answers,
                state_,
                0,
                p_.resolved.steps,
                pacer_.horizon(),
                pacer_.seconds_per_step(),
                {},
                problem_,
                p_.run_directory.string()};
  status.step = p_.resolved.steps;
  for (const auto& [link, part] : links_) status.links.push_back({link, part});
  for (const RankEntry& entry : entries_) {
    const Progress& last = liveness_monitor_.last(entry.identity.rank);
    const std::int64_t step =
        entry.finished ? entry.finished->steps : std::max(last.step, p_.resolved.first_step);
    if (counts(entry)) status.step = std::min(status.step, step);
    status.ranks.push_back({entry.identity.rank, rank_state(entry, last), step, last.op,
                            last.waits_for, entry.process, entry.slow_down, entry.jitter});
  }
  return status;
}

std::string Coordination::rank_state(const RankEntry& entry, const Progress& last) const {
  if (entry.finished) return "finished";
  if (entry.returning) return "returning";
  if (entry.reported_end || entry.lost) return "lost";
  if (entry.stalled) return "stalled";
  if (liveness_monitor_.is_suspected(entry.identity.rank, base::now_nanoseconds()))
    return "suspected";
  if (state_ == RunState::starting) return "starting";
  if (last.step >= pacer_.horizon() && pacer_.pausing()) return "paused";
  return last.waits_for >= 0 ? "waiting" : "running";
}

// Reporting

// Sets the state and logs a change. Does not log that a single step interrupts a pause.
void Coordination::set_state(RunState state) {
  if (state != logged_ && !(logged_ == RunState::paused && state == RunState::pausing)) {
    say("info", std::string(base::name_of(state)));
    logged_ = state;
  }
  state_ = state;
  record_state();
}

void Coordination::record_state(const base::Json& fault) {
  base::Json json{{"state", base::name_of(state_)},
                  {"time_ns", clock_ns()},
                  {"step", slowest_step()},
                  {"horizon", pacer_.horizon()},
                  {"seconds_per_step", pacer_.seconds_per_step()}};
  if (problem_) json["problem"] = to_json(*problem_);
  if (!fault.is_null()) json["fault"] = fault;
  journal_->state(json);
  if (problem_ || !fault.is_null()) journal_->keep_ops_around_now();
}

// Returns the time on the clock of the recording. With the virtual clock this is the end of the
// latest reported event.
std::int64_t Coordination::clock_ns() const {
  const bool virtual_time = p_.resolved.document.run.clock == experiment::RunClock::virtual_time;
  return virtual_time && latest_event_ns_ > 0 ? latest_event_ns_ : base::now_nanoseconds();
}

// In a run with servers, the run's step is the step count of the first server. The steps of workers
// do not matter.
bool Coordination::counts(const RankEntry& entry) const {
  return p_.resolved.servers == 0 || entry.identity.rank == p_.resolved.workers();
}

std::int64_t Coordination::slowest_step() const {
  std::int64_t slowest = p_.resolved.steps;
  for (const RankEntry& entry : entries_)
    if (counts(entry) && !entry.lost)
      slowest = std::min(slowest, liveness_monitor_.last(entry.identity.rank).step);
  return entries_.empty() ? p_.resolved.first_step : std::max(slowest, p_.resolved.first_step);
}

void Coordination::say(const std::string& level, const std::string& text, int rank) {
  const std::string name = rank < 0 ? "coordinator" : entries_[static_cast<std::size_t>(rank)].name;
  journal_->log({level, text, rank, name, clock_ns()});
}

void Coordination::broadcast(const Message& message) {
  std::set<PeerId> reached;
  for (const RankEntry& entry : entries_)
    if (!entry.peer.empty() && !entry.finished && reached.insert(entry.peer).second)
      p_.server->send(entry.peer, message);
}

}  // namespace trainyard::session
