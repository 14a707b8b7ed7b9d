// SPDX-License-Identifier: GPL-3.0-or-later
// Failed ranks: decides if the run continues, and restarts them. A restarted rank joins only after
// every server has seen its predecessor leave. Otherwise a server could attribute messages of the
// predecessor to the new process.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/bipartition.h"
#include "core/experiment/servers.h"
#include "core/plan/server_events.h"
#include "core/session/coordinator/coordination.h"

namespace trainyard::session {

// True if training can continue without this rank: it is an evaluator, or enough workers are left.
bool Coordination::can_continue_without(const RankEntry& entry) const {
  if (!training() || entry.lost || !experiment::is_loss_allowed(p_.resolved, entry.identity.rank))
    return false;
  if (p_.resolved.is_evaluator(entry.identity.rank)) return true;
  return remaining_workers() >
         experiment::min_workers(p_.resolved.document.strategy.servers, p_.resolved.workers());
}

std::int64_t Coordination::remaining_workers() const {
  return std::count_if(entries_.begin(), entries_.begin() + p_.resolved.workers(),
                       [](const RankEntry& one) { return !one.lost; });
}

// If other workers failed earlier, appends their number to the description of the problem.
base::Problem Coordination::add_earlier_losses(base::Problem problem,
                                               const RankEntry& entry) const {
  const std::int64_t lost = p_.resolved.workers() - remaining_workers();
  if (entry.identity.rank >= p_.resolved.workers() || lost == 0) return problem;
  problem.what += fmt::format("; {} of {} workers had failed earlier, and too few are left",
                              base::format_count(lost), base::format_count(p_.resolved.workers()));
  return problem;
}

bool Coordination::servers_finished() const {
  return p_.resolved.servers > 0 &&
         std::all_of(entries_.begin() + p_.resolved.workers(),
                     entries_.begin() + p_.resolved.trainers_and_servers(),
                     [](const RankEntry& entry) { return entry.finished.has_value(); });
}

// Marks the rank as lost and kills its process, because an unresponsive process could wake up after
// its replacement has started.
void Coordination::mark_lost(RankEntry& entry, const std::string& why) {
  entry.lost = true;
  entry.stalled = false;
  announce_gone(entry);
  entry.peer.clear();
  liveness_monitor_.done(entry.identity.rank);
  if (entry.handle) entry.handle->kill();
  fault("lost", entry,
        fmt::format("{}; training continues with {}", why, describe_remaining(entry)));
  entry.wanted = restarts_ < p_.resolved.document.run.restarts;
  if (entry.wanted) ++restarts_;
}

std::string Coordination::describe_remaining(const RankEntry& lost) const {
  if (p_.resolved.is_evaluator(lost.identity.rank))
    return "no rank that evaluates held-out samples";
  const std::int64_t left = remaining_workers();
  return base::counted(left, "worker");
}

void Coordination::notify_evaluators() {
  for (int rank = p_.resolved.trainers_and_servers(); rank < p_.resolved.world(); ++rank)
    notify_evaluator(entries_[static_cast<std::size_t>(rank)]);
}

void Coordination::notify_evaluator(const RankEntry& entry) {
  if (committer_ && !entry.peer.empty() && !entry.finished)
    p_.server->send(entry.peer, Committed{committer_->committed_step(), trained_});
}

bool Coordination::drop_evaluators(const std::string& why) {
  bool any = false;
  for (RankEntry& entry : entries_)
    if (!entry.finished && p_.resolved.is_evaluator(entry.identity.rank) &&
        can_continue_without(entry))
      mark_lost(entry, why), any = true;
  return any;
}

// Returns the worker that saves the state that all workers share: the chief, or the first remaining
// worker if the chief failed.
int Coordination::chief() const {
  if (p_.resolved.servers == 0 || !entries_[static_cast<std::size_t>(p_.resolved.chief)].lost)
    return p_.resolved.chief;
  const auto there = std::find_if(entries_.begin(), entries_.begin() + p_.resolved.workers(),
                                  [](const RankEntry& entry) { return !entry.lost; });
  return static_cast<int>(there - entries_.begin());
}

void Coordination::take(const PeerId& from, const Order& order) {
  if (entry_of(from, order.rank) == nullptr) return;
  const auto bytes = std::as_bytes(std::span(order.events));
  journal_->order(order.rank, bytes);
  if (p_.resolved.servers == 0) return;
  const auto events = plan::served_of(bytes);
  if (!events) return;
  for (const plan::ServerEvent& event : *events)
    if (event.kind == plan::ServerEvent::Kind::leaves && event.worker >= 0 &&
        event.worker < p_.resolved.workers())
      ++entries_[static_cast<std::size_t>(event.worker)].departures_seen;
}

// Tells the servers that the rank's process is gone. The rank is not replaced until every server
// has confirmed that it has seen the rank leave.
void Coordination::announce_gone(RankEntry& entry) {
  // Skips evaluators, which exchange no data with servers.
  if (p_.resolved.is_evaluator(entry.identity.rank)) return;
  entry.leave_confirmations_due += p_.resolved.servers;
  for (int server = p_.resolved.workers(); server < p_.resolved.trainers_and_servers(); ++server)
    p_.server->send(entries_[static_cast<std::size_t>(server)].peer,
                    Gone{entry.identity.rank, entry.generation});
}

void Coordination::restart_lost_ranks() {
  for (RankEntry& entry : entries_) {
    if (!entry.wanted || !training()) continue;
    if (entry.departures_seen < entry.leave_confirmations_due || !entry.handle->ended()) continue;
    entry.wanted = false;
    restart_rank(entry);
  }
}

void Coordination::restart_rank(RankEntry& entry) {
  std::erase_if(peers_, [&](const auto& peer) { return peer.second == entry.identity.rank; });
  entry.identity.token = new_token();
  auto handle = launch_again_(entry.identity);
  if (!handle)
    return say("warning", fmt::format("the rank could not be restarted: {}", handle.error().what),
               entry.identity.rank);
  ++entry.generation;
  entry.handle = std::move(*handle);
  exits_.add(entry.handle->end_descriptor());
  entry.process = entry.handle->process();
  entry.cpu_used_ns = 0;
  entry.reported_end = entry.planned = false;
  entry.end = {};
  entry.returning = true;
}

void Coordination::abandon_rejoin(RankEntry& entry, const std::string& how) {
  entry.returning = false;
  say("warning", fmt::format("the restarted rank could not rejoin: its process ended with {}", how),
      entry.identity.rank);
  announce_gone(entry);
}

void Coordination::rejoin(RankEntry& entry) {
  Start start{{}, plan_hash_};
  for (const RankEntry& one : entries_) start.endpoints.push_back(one.endpoint);
  p_.server->send(entry.peer, start);
  p_.server->send(entry.peer, last_grant_);
  if (entry.slow_requested)
    p_.server->send(entry.peer, Slow{entry.identity.rank, entry.slow_down, entry.jitter});
  if (p_.resolved.is_evaluator(entry.identity.rank)) notify_evaluator(entry);
  entry.lost = entry.returning = false;
  liveness_monitor_.again(entry.identity.rank, base::now_nanoseconds());
  fault("back", entry, fmt::format("process {} replaces the failed one", entry.process));
}

// Injects a fault into a rank on a viewer's request.
void Coordination::inject_fault(const Ask& ask) {
  if (ask.rank < 0 || static_cast<std::size_t>(ask.rank) >= entries_.size() || !training()) return;
  RankEntry& entry = entries_[static_cast<std::size_t>(ask.rank)];
  if (!experiment::ranks_are_processes(p_.resolved.document.run))
    return say("warning", "faults cannot be injected: the rank is not a separate process",
               ask.rank);
  const bool there = !entry.lost && !entry.finished && entry.handle && !entry.handle->ended();
  switch (ask.command) {
    case Command::kill:
      if (!there) return;
      fault("killed", entry, "is killed on request");
      return entry.handle->kill();
    case Command::stall:
      if (!there || entry.stalled || !entry.handle->stall(true)) return;
      entry.stalled = true;
      return fault("stalled", entry, "is stalled on request");
    case Command::wake:
      if (!there || !entry.stalled || !entry.handle->stall(false)) return;
      entry.stalled = false;
      return fault("awake", entry, "continues on request");
    case Command::restart:
      if (entry.lost && !entry.returning && launch_again_) entry.wanted = true;
      return;
    default: return;
  }
}

// Changes the bandwidth of a drawn link, in both directions, on a viewer's request.
void Coordination::inject_fault(const LinkBandwidth& asked) {
  const auto& drawn = p_.resolved.document.topology.links;
  const bool known = asked.link >= 0 && static_cast<std::size_t>(asked.link) < drawn.size();
  if (!known || !(asked.part >= 0 && asked.part <= 1) || !training()) return;
  const topology::Link& link = drawn[static_cast<std::size_t>(asked.link)];
  const std::string name = fmt::format("the link {} - {}", link.from, link.to);
  if (!set_link_)
    return say("warning", name +
                              " cannot be cut or slowed: this run does not limit links to their "
                              "drawn bandwidth (set run.links)");
  if (const auto set = set_link_(asked.link, asked.part); !set)
    return say("warning", fmt::format("{} is unchanged: {}", name, set.error().what));
  if (asked.part < 1) links_[asked.link] = asked.part;
  else links_.erase(asked.link);
  const auto [kind, now] =
      asked.part == 0  ? std::pair("link_cut", std::string("is cut; messages on it wait"))
      : asked.part < 1 ? std::pair("link_slowed", fmt::format("has {} % of its drawn bandwidth",
                                                              std::lround(asked.part * 100)))
                       : std::pair("link_restored", std::string("has its drawn bandwidth again"));
  const std::string text = fmt::format("{} {}, on request", name, now);
  say(asked.part == 0 ? "warning" : "info", text);
  record_state({{"kind", kind}, {"rank", -1}, {"link", asked.link}, {"text", text}});
}

// Logs a fault and records it with the run state, where views find it.
void Coordination::fault(const std::string& kind, const RankEntry& entry, const std::string& text) {
  say(kind == "lost" || kind == "killed" ? "warning" : "info", text, entry.identity.rank);
  base::Json state{{"kind", kind}, {"rank", entry.identity.rank}, {"text", text}};
  if (experiment::is_asynchronous_gossip(p_.resolved.document.strategy))
    state["step"] = liveness_monitor_.last(entry.identity.rank).step;
  record_state(state);
}

}  // namespace trainyard::session
