// SPDX-License-Identifier: GPL-3.0-or-later
// Failed ranks: decides if the run continues, and restarts them. A restarted rank joins only after
// every server has seen its predecessor leave. Otherwise a server would take messages of the
// predecessor for messages of the new one.
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

// True if training can continue without this rank: enough workers are left, or the rank is an
// evaluator.
bool Coordination::spares(const RankEntry& seat) const {
  if (!training() || seat.lost || !experiment::may_be_lost(p_.resolved, seat.identity.rank))
    return false;
  if (p_.resolved.is_evaluator(seat.identity.rank)) return true;
  return workers_left() >
         experiment::least_workers(p_.resolved.document.strategy.servers, p_.resolved.workers());
}

std::int64_t Coordination::workers_left() const {
  return std::count_if(seats_.begin(), seats_.begin() + p_.resolved.workers(),
                       [](const RankEntry& one) { return !one.lost; });
}

// Adds to the problem of a worker that too few workers are left because others failed before it.
base::Problem Coordination::with_earlier_losses(base::Problem problem,
                                                const RankEntry& seat) const {
  const std::int64_t lost = p_.resolved.workers() - workers_left();
  if (seat.identity.rank >= p_.resolved.workers() || lost == 0) return problem;
  problem.what += fmt::format("; {} of {} workers failed before it, and too few are left",
                              base::format_count(lost), base::format_count(p_.resolved.workers()));
  return problem;
}

bool Coordination::servers_finished() const {
  return p_.resolved.servers > 0 &&
         std::all_of(seats_.begin() + p_.resolved.workers(),
                     seats_.begin() + p_.resolved.trainers_and_servers(),
                     [](const RankEntry& seat) { return seat.finished.has_value(); });
}

// Kills an unresponsive rank, because it may wake up after another rank has taken its place.
void Coordination::lose(RankEntry& seat, const std::string& why) {
  seat.lost = true;
  seat.stalled = false;
  announce_gone(seat);
  seat.peer.clear();
  watch_.done(seat.identity.rank);
  if (seat.handle) seat.handle->kill();
  fault("lost", seat, fmt::format("{}; training continues with {}", why, describe_remaining(seat)));
  seat.wanted = restarts_ < p_.resolved.document.run.restarts;
  if (seat.wanted) ++restarts_;
}

std::string Coordination::describe_remaining(const RankEntry& lost) const {
  if (p_.resolved.is_evaluator(lost.identity.rank))
    return "no rank that evaluates held-out samples";
  const std::int64_t left = workers_left();
  return base::counted(left, "worker");
}

void Coordination::notify_evaluators() {
  for (int rank = p_.resolved.trainers_and_servers(); rank < p_.resolved.world(); ++rank)
    notify_evaluator(seats_[static_cast<std::size_t>(rank)]);
}

void Coordination::notify_evaluator(const RankEntry& seat) {
  if (committer_ && !seat.peer.empty() && !seat.finished)
    p_.server->send(seat.peer, Committed{committer_->committed_step(), trained_});
}

bool Coordination::drop_evaluators(const std::string& why) {
  bool any = false;
  for (RankEntry& seat : seats_)
    if (!seat.finished && p_.resolved.is_evaluator(seat.identity.rank) && spares(seat))
      lose(seat, why), any = true;
  return any;
}

// Returns the worker that saves the state that all workers share: the chief, or the first remaining
// worker if the chief failed.
int Coordination::chief() const {
  if (p_.resolved.servers == 0 || !seats_[static_cast<std::size_t>(p_.resolved.chief)].lost)
    return p_.resolved.chief;
  const auto there = std::find_if(seats_.begin(), seats_.begin() + p_.resolved.workers(),
                                  [](const RankEntry& seat) { return !seat.lost; });
  return static_cast<int>(there - seats_.begin());
}

void Coordination::take(const PeerId& from, const Order& order) {
  if (seat_of(from, order.rank) == nullptr) return;
  const auto bytes = std::as_bytes(std::span(order.events));
  journal_->order(order.rank, bytes);
  if (p_.resolved.servers == 0) return;
  const auto events = plan::served_of(bytes);
  if (!events) return;
  for (const plan::ServerEvent& event : *events)
    if (event.kind == plan::ServerEvent::Kind::leaves && event.worker >= 0 &&
        event.worker < p_.resolved.workers())
      ++seats_[static_cast<std::size_t>(event.worker)].farewells;
}

// Tells the servers that the rank is gone. It is not replaced until each server has confirmed that
// it has seen the rank leave.
void Coordination::announce_gone(RankEntry& seat) {
  // Evaluators exchange no data with servers.
  if (p_.resolved.is_evaluator(seat.identity.rank)) return;
  seat.leave_confirmations_due += p_.resolved.servers;
  for (int server = p_.resolved.workers(); server < p_.resolved.trainers_and_servers(); ++server)
    p_.server->send(seats_[static_cast<std::size_t>(server)].peer,
                    Gone{seat.identity.rank, seat.generation});
}

void Coordination::restart_lost_ranks() {
  for (RankEntry& seat : seats_) {
    if (!seat.wanted || !training()) continue;
    if (seat.farewells < seat.leave_confirmations_due || !seat.handle->ended()) continue;
    seat.wanted = false;
    restart_rank(seat);
  }
}

void Coordination::restart_rank(RankEntry& seat) {
  std::erase_if(peers_, [&](const auto& peer) { return peer.second == seat.identity.rank; });
  seat.identity.token = new_token();
  auto handle = launch_again_(seat.identity);
  if (!handle)
    return say("warning", fmt::format("could not be restarted: {}", handle.error().what),
               seat.identity.rank);
  ++seat.generation;
  seat.handle = std::move(*handle);
  seat.process = seat.handle->process();
  seat.reported_end = seat.planned = false;
  seat.end = {};
  seat.returning = true;
}

void Coordination::not_back(RankEntry& seat, const std::string& how) {
  seat.returning = false;
  say("warning", fmt::format("could not rejoin: ended by {}", how), seat.identity.rank);
  announce_gone(seat);
}

void Coordination::rejoin(RankEntry& seat) {
  Start start{{}, plan_hash_};
  for (const RankEntry& one : seats_) start.endpoints.push_back(one.endpoint);
  p_.server->send(seat.peer, start);
  p_.server->send(seat.peer, last_grant_);
  if (seat.slow_asked)
    p_.server->send(seat.peer, Slow{seat.identity.rank, seat.slow_down, seat.jitter});
  if (p_.resolved.is_evaluator(seat.identity.rank)) notify_evaluator(seat);
  seat.lost = seat.returning = false;
  watch_.again(seat.identity.rank, base::now_nanoseconds());
  fault("back", seat, fmt::format("rejoined as process {}", seat.process));
}

// Injects a fault into a rank on a viewer's request.
void Coordination::inject_fault(const Ask& ask) {
  if (ask.rank < 0 || static_cast<std::size_t>(ask.rank) >= seats_.size() || !training()) return;
  RankEntry& seat = seats_[static_cast<std::size_t>(ask.rank)];
  if (!experiment::ranks_are_processes(p_.resolved.document.run))
    return say("warning", "faults cannot be injected: the rank is not a separate process",
               ask.rank);
  const bool there = !seat.lost && !seat.finished && seat.handle && !seat.handle->ended();
  switch (ask.command) {
    case Command::kill:
      if (!there) return;
      fault("killed", seat, "is killed on request");
      return seat.handle->kill();
    case Command::stall:
      if (!there || seat.stalled || !seat.handle->stall(true)) return;
      seat.stalled = true;
      return fault("stalled", seat, "is stalled on request");
    case Command::wake:
      if (!there || !seat.stalled || !seat.handle->stall(false)) return;
      seat.stalled = false;
      return fault("awake", seat, "continues on request");
    case Command::restart:
      if (seat.lost && !seat.returning && launch_again_) seat.wanted = true;
      return;
    default: return;
  }
}

// Changes the bandwidth of a drawn link, in both directions.
void Coordination::inject_fault(const LinkBandwidth& asked) {
  const auto& drawn = p_.resolved.document.topology.links;
  const bool known = asked.link >= 0 && static_cast<std::size_t>(asked.link) < drawn.size();
  if (!known || !(asked.part >= 0 && asked.part <= 1) || !training()) return;
  const topology::Link& link = drawn[static_cast<std::size_t>(asked.link)];
  const std::string name = fmt::format("the link {} - {}", link.from, link.to);
  if (!set_link_)
    return say("warning",
               name + " cannot be cut or slowed: drawn links are not imposed (run.links)");
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
void Coordination::fault(const std::string& kind, const RankEntry& seat, const std::string& text) {
  say(kind == "lost" || kind == "killed" ? "warning" : "info", text, seat.identity.rank);
  base::Json state{{"kind", kind}, {"rank", seat.identity.rank}, {"text", text}};
  if (experiment::is_asynchronous_gossip(p_.resolved.document.strategy))
    state["step"] = watch_.last(seat.identity.rank).step;
  record_state(state);
}

}  // namespace trainyard::session
