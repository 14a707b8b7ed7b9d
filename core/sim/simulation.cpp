// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/simulation.h"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/units.h"
#include "core/plan/text.h"

namespace trainyard::sim {
namespace {

constexpr int kNamedAtMost = 4;  // maximum number of ranks that a deadlock message names

}  // namespace

base::Result<std::unique_ptr<Simulation>> Simulation::run(
    const plan::Plan& plan, const plan::Schedule& schedule, std::int64_t steps,
    const topology::Network& network, const Options& options, EventSink::Listener listener) {
  std::unique_ptr<Simulation> simulation(
      new Simulation(plan, network, options.watch, std::move(listener)));
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (const auto added = simulation->add_rank(rank, schedule, steps, options); !added)
      return base::fail(added.error());
  if (const auto ok = simulation->loop(); !ok) return base::fail(ok.error());
  return simulation;
}

// Builds the plan of a rank, derives the rank's timing model from it, and discards the plan to save
// memory.
base::Result<void> Simulation::add_rank(int number, const plan::Schedule& schedule,
                                        std::int64_t steps, const Options& options) {
  if (watch_.progress) watch_.progress(0);  // planning many ranks takes long
  if (auto ok = check_wanted(); !ok) return ok;
  const plan::RankPlan plan = plan_.rank_plan(number);
  const topology::DeviceId id = network_.ranks()[static_cast<std::size_t>(number)];
  const topology::Device& device = network_.device(id);
  auto model = model_rank(plan, plan_, device, host_link(device, network_.host(id)),
                          picoseconds(options.launch_seconds));
  if (!model) return base::fail(model.error());
  if (auto ok = resolve_paths(*model); !ok) return ok;
  const auto shared = std::make_shared<const RankModel>(std::move(*model));
  auto script = ProgramSequence::make(*shared, schedule, steps);
  if (!script) return base::fail(script.error());
  for (std::int64_t step = 0; step < steps; ++step)
    expected_ops_ += std::ssize(
        shared->programs[static_cast<std::size_t>(shared->program(schedule.program(step)))].ops);
  ranks_.push_back(std::make_unique<VirtualRank>(plan, shared, std::move(*script),
                                                 options.lanes_per_thread, world_));
  ranks_.back()->wake(0);
  return {};
}

base::Result<void> Simulation::resolve_paths(RankModel& model) {
  for (ProgramModel& program : model.programs)
    for (OpModel& op : program.ops) {
      if (plan::coarse(op.kind))
        if (const auto known = world_.pending_collectives.duration(op); !known)
          return base::fail(known.error());
      for (std::size_t i = 0; op.channel >= 0 && i < op.peers.size(); ++i) {
        const bool sends = op.kind == plan::OpKind::send;
        const int lane = world_.wire.lane(sends ? model.rank : op.peers[i],
                                          sends ? op.peers[i] : model.rank, op.channel);
        if (i == 0) op.first_lane = lane;
        else op.other_lanes.push_back(lane);
      }
      if (op.kind != plan::OpKind::send) continue;
      if (const auto path = world_.wire.path(model.rank, op.peers.front()); !path)
        return base::fail(path.error());
    }
  return {};
}

base::Result<void> Simulation::loop() {
  while (true) {
    report_progress();
    if (auto ok = check_wanted(); !ok) return ok;
    const Picoseconds next =
        world_.event_queue.empty() ? Links::kNever : world_.event_queue.top().time;
    if (next > now_) {
      if (const Picoseconds sent = world_.wire.next_end(now_);
          sent < Links::kNever && sent <= next) {
        send_on(sent);
        continue;
      }
      if (next == Links::kNever) return check_all_over();
    }
    if (next > kLongest)
      return base::fail({"virtual_time_too_long", base::ProblemCode::bad_input, "topology",
                         "the simulation exceeds 46 days of virtual time", "",
                         "Draw faster devices and links, or simulate fewer steps."});
    const Moment moment = world_.event_queue.top();
    world_.event_queue.pop();
    if (auto ok = handle(moment); !ok) return ok;
  }
}

base::Result<void> Simulation::check_wanted() const {
  if (!watch_.stop.stop_requested()) return {};
  return base::fail(
      {"canceled", base::ProblemCode::canceled, "", "the simulation was canceled", "", ""});
}

void Simulation::report_progress() {
  constexpr int kReportEvery = 4096;
  if (!watch_.progress || ++unreported_ < kReportEvery) return;
  unreported_ = 0;
  watch_.progress(std::min(1.0, static_cast<double>(world_.finished_ops) /
                                    static_cast<double>(std::max<std::int64_t>(1, expected_ops_))));
}

void Simulation::send_on(Picoseconds now) {
  now_ = now;
  for (const int number : world_.wire.take_sent(now)) {
    const Message& message = world_.wire.message(number);
    world_.event_queue.push({now + message.path->latency, MomentKind::arrives, message.to, number});
  }
}

base::Result<void> Simulation::handle(const Moment& moment) {
  now_ = moment.time;
  switch (moment.kind) {
    case MomentKind::goes_on: return advance(moment.rank);
    case MomentKind::collective_ends: return end_collective(moment.number), base::Result<void>();
    case MomentKind::busy_ends:
      rank(moment.rank).end_busy(static_cast<std::size_t>(moment.number), now_);
      for (const int sender : rank(moment.rank).take_acknowledged()) rank(sender).wake(now_);
      return {};
    case MomentKind::arrives:
      world_.wire.arrive(moment.number);
      rank(world_.wire.message(moment.number).from).crossing(false, now_);
      rank(moment.rank).crossing(false, now_);
      rank(moment.rank).wake(now_);
      return {};
  }
  return {};
}

base::Result<void> Simulation::advance(int number) {
  auto ok = rank(number).advance(now_);
  for (const int message : world_.wire.take_posted()) {
    rank(number).crossing(true, now_);
    rank(world_.wire.message(message).to).crossing(true, now_);
  }
  for (const int pending : world_.pending_collectives.take_complete()) {
    const OpModel& op = *world_.pending_collectives.at(pending).op;
    for (const int member : op.members) rank(member).crossing(true, now_);
    world_.event_queue.push({now_ + world_.pending_collectives.known_duration(op),
                             MomentKind::collective_ends, op.members.front(), pending});
  }
  return ok;
}

void Simulation::end_collective(int number) {
  world_.pending_collectives.end(number);
  for (const int member : world_.pending_collectives.at(number).op->members) {
    rank(member).crossing(false, now_);
    rank(member).wake(now_);
  }
}

base::Result<void> Simulation::check_all_over() const {
  std::string stuck;
  int waiting = 0;
  for (const auto& rank : ranks_) {
    if (rank->over()) continue;
    if (++waiting <= kNamedAtMost) stuck += (stuck.empty() ? "" : "; ") + describe(*rank);
  }
  if (waiting == 0) return {};
  if (waiting > kNamedAtMost)
    stuck += fmt::format("; {} also {}", base::counted(waiting - kNamedAtMost, "other rank"),
                         waiting - kNamedAtMost == 1 ? "waits" : "wait");
  return base::fail({"deadlock", base::ProblemCode::bad_input, "plan",
                     fmt::format("the ranks deadlock: {}", stuck), "a plan that passes the check",
                     ""});
}

std::string Simulation::describe(const VirtualRank& rank) const {
  const auto stuck = rank.stuck();
  if (!stuck) return fmt::format("rank {} has no op that can start", rank.model().rank);
  const plan::RankPlan plan = plan_.rank_plan(rank.model().rank);
  const plan::Op& op = plan.programs[static_cast<std::size_t>(stuck->program)]
                           .ops[static_cast<std::size_t>(stuck->op)];
  return fmt::format("rank {} is in {} of step {}", rank.model().rank, plan::token(op),
                     stuck->step);
}

}  // namespace trainyard::sim
