// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/sim/virtual_rank.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace trainyard::sim {

using plan::LaneId;
using plan::LaneKind;
using plan::OpKind;
using telemetry::Metric;

namespace {

// Activity of ops on another thread (copies). The time account of the rank does not count them, so
// the rank may count as waiting while they run.
constexpr Activity kOtherThread = Activity::waiting;

// True if an older op receives from the same peer on the same channel. The next message on that
// channel is then for the older op.
bool turn_of_another(const OpModel& older, const OpModel& own) {
  const auto waits_for = [&](int peer) {
    return std::find(older.peers.begin(), older.peers.end(), peer) != older.peers.end();
  };
  return older.kind != OpKind::send && older.channel == own.channel &&
         std::any_of(own.peers.begin(), own.peers.end(), waits_for);
}

}  // namespace

VirtualRank::VirtualRank(const plan::RankPlan& plan, std::shared_ptr<const RankModel> model,
                         ProgramSequence script, LanesPerThread lanes_per_thread,
                         SimulationState& world)
    : model_(std::move(model)), script_(std::move(script)), world_(world), frontier_(plan) {
  add_engines(lanes_per_thread);
  script_.admit(frontier_);
}

void VirtualRank::add_engines(LanesPerThread lanes_per_thread) {
  if (lanes_per_thread == LanesPerThread::one) {
    engines_.resize(model_->lanes.size());
    for (std::size_t l = 0; l < model_->lanes.size(); ++l) assign_lane(engines_[l], l);
    return;
  }
  const bool paced = lanes_per_thread == LanesPerThread::paced;
  engines_.resize(paced ? 2 : 1);
  for (std::size_t l = 0; l < model_->lanes.size(); ++l) {
    const LaneKind kind = model_->lanes[l].kind;
    if (kind == LaneKind::copy) engines_.emplace_back();
    const bool computes = kind == LaneKind::input || kind == LaneKind::compute;
    assign_lane(kind == LaneKind::copy ? engines_.back() : engines_[paced && !computes ? 1 : 0], l);
  }
}

void VirtualRank::assign_lane(Engine& engine, std::size_t lane) {
  const LaneKind kind = model_->lanes[lane].kind;
  if (kind == LaneKind::input) engine.input = LaneId(lane);
  else if (kind == LaneKind::compute) engine.compute = LaneId(lane);
  else if (kind == LaneKind::copy) engine.copy = LaneId(lane);
  else engine.comm.emplace_back(lane);
}

void VirtualRank::wake(Picoseconds now) {
  if (woken_) return;
  woken_ = true;
  world_.event_queue.push({now, MomentKind::goes_on, rank(), 0});
}

base::Result<void> VirtualRank::advance(Picoseconds now) {
  woken_ = false;
  for (bool any = true; any;) {
    any = false;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const auto moved = run(e, now);
      if (!moved) return base::fail(moved.error());
      any = any || *moved;
    }
  }
  return {};
}

// Runs one engine (thread). Returns true if it made progress, so that other engines should poll
// again.
base::Result<bool> VirtualRank::run(std::size_t engine, Picoseconds now) {
  bool any = false;
  while (!engines_[engine].busy) {
    const bool last_stage = engines_[engine].stage == Stage::end;
    if (const auto ok = run_stage(engine, now); !ok) return base::fail(ok.error());
    any = any || engines_[engine].moved;
    if (last_stage && !engines_[engine].moved) break;
  }
  return any;
}

base::Result<void> VirtualRank::run_stage(std::size_t number, Picoseconds now) {
  Engine& engine = engines_[number];
  switch (engine.stage) {
    case Stage::start: start_transfers(engine, now); break;
    case Stage::poll: return poll(number, now);
    case Stage::input:
      engine.stage = Stage::compute;
      try_lane(engine.input, Activity::loading, number, now);
      try_lane(engine.copy, kOtherThread, number, now);
      break;
    case Stage::compute:
      engine.stage = Stage::end;
      try_lane(engine.compute, Activity::computing, number, now);
      break;
    case Stage::end:
      engine.stage = Stage::start;
      if (advance_parts(now)) engine.moved = true;
      break;
  }
  return {};
}

void VirtualRank::start_transfers(Engine& engine, Picoseconds now) {
  engine.moved = false;
  for (const LaneId lane : engine.comm)
    while (const auto ready = frontier_.next(lane)) {
      engine.under_way.push_back({&op(*ready), *ready, now, now});
      frontier_.start(lane);
      engine.moved = true;
    }
  engine.cursor = engine.kept = 0;
  engine.done.clear();
  engine.stage = Stage::poll;
}

// Advances all transfers of an engine, in order. All transfers that are complete finish at the same
// time.
base::Result<void> VirtualRank::poll(std::size_t number, Picoseconds now) {
  Engine& engine = engines_[number];
  while (engine.cursor < engine.under_way.size()) {
    Work& work = engine.under_way[engine.cursor];
    if (work.op->kind == OpKind::send) {
      if (poll_send(work, now, engine)) engine.done.push_back(work);
      else engine.under_way[engine.kept++] = work;
    } else if (plan::coarse(work.op->kind)) {
      const auto over = poll_coarse(work, engine);
      if (!over) return base::fail(over.error());
      if (*over) engine.done.push_back(work);
      else engine.under_way[engine.kept++] = work;
    } else {
      const auto here = arrived(engine, work);
      if (!here) return base::fail(here.error());
      if (*here) {
        work_on(number, work, Activity::adding, now);
        return {};
      }
      engine.under_way[engine.kept++] = work;
    }
    ++engine.cursor;
  }
  engine.under_way.resize(engine.kept);
  for (const Work& work : engine.done) finish(work, now);
  // After a transfer completes, polls the next transfer before a compute op starts. If a step is
  // complete, it ends before the next transfer is polled, so that later sends do not count in the
  // traffic of that step.
  engine.stage =
      engine.done.empty() || script_.has_complete(frontier_) ? Stage::input : Stage::start;
  return {};
}

// Polls an engine's collective. The engine does not report when peers were ready, so the
// collective's bar in the timeline begins when the rank submits it.
base::Result<bool> VirtualRank::poll_coarse(Work& work, Engine& engine) {
  if (work.message < 0) {
    const auto number = world_.pending_collectives.join(rank(), *work.op, work.ready.step);
    if (!number) return base::fail(number.error());
    work.message = *number;
    engine.moved = true;
  }
  engine.moved = engine.moved || world_.pending_collectives.at(work.message).over;
  return world_.pending_collectives.at(work.message).over;
}

bool VirtualRank::poll_send(Work& work, Picoseconds now, Engine& engine) {
  if (work.message < 0) {
    work.message = world_.wire.send(
        rank(), *work.op, work.ready.step,
        model_->programs[static_cast<std::size_t>(work.ready.program)].purpose, now);
    engine.moved = true;
  }
  if (!world_.wire.message(work.message).consumed) return false;
  world_.wire.forget(work.message);
  engine.moved = true;
  return true;
}

// Returns true if all messages that a receive op needs have arrived. Fails if a message is not the
// one that the op expects.
base::Result<bool> VirtualRank::arrived(const Engine& engine, Work& work) const {
  const OpModel& own = *work.op;
  for (std::size_t i = 0; i < engine.kept; ++i)
    if (turn_of_another(*engine.under_way[i].op, own)) return false;
  Picoseconds ready = work.begin;
  for (std::size_t i = 0; i < own.peers.size(); ++i) {
    const int peer = own.peers[i], number = world_.wire.oldest(own.message_lane(i));
    if (number < 0) return false;
    const Message& message = world_.wire.message(number);
    const OpModel& sent = *message.op;
    if (message.step != work.ready.step ||
        std::tie(sent.bucket, sent.round, sent.chunk, sent.bytes) !=
            std::tie(own.bucket, own.round, own.chunk, own.bytes))
      return base::fail({"messages_differ", base::ProblemCode::bad_input,
                         fmt::format("rank {}, step {}", rank(), work.ready.step),
                         fmt::format("expected bucket {}, round {}, chunk {} of {} B from rank {}, "
                                     "but that rank sent bucket {}, round {}, chunk {} of {} B",
                                     own.bucket, own.round, own.chunk, own.bytes, peer, sent.bucket,
                                     sent.round, sent.chunk, sent.bytes),
                         "sends and receives in the same order on both ranks", ""});
    ready = std::max(ready, message.posted);
  }
  work.peer_ready = ready;
  return true;
}

void VirtualRank::try_lane(LaneId lane, Activity activity, std::size_t engine, Picoseconds now) {
  if (!lane.valid()) return;
  const auto ready = frontier_.next(lane);
  if (!ready) return;
  frontier_.start(lane);
  work_on(engine, {&op(*ready), *ready, now, now}, activity, now);
}

void VirtualRank::work_on(std::size_t number, const Work& work, Activity activity,
                          Picoseconds now) {
  Engine& engine = engines_[number];
  engine.work = work;
  engine.activity = activity;
  engine.busy = engine.moved = true;
  if (activity != kOtherThread) account_.start(activity, now);
  world_.event_queue.push(
      {now + work.op->takes, MomentKind::busy_ends, rank(), static_cast<int>(number)});
}

void VirtualRank::end_busy(std::size_t number, Picoseconds now) {
  Engine& engine = engines_[number];
  engine.busy = false;
  if (engine.activity != kOtherThread) account_.stop(engine.activity, now);
  if (engine.activity != Activity::adding) {
    finish(engine.work, now);
  } else {
    const OpModel& op = *engine.work.op;
    for (std::size_t i = 0; i < op.peers.size(); ++i) {
      world_.wire.consume(world_.wire.oldest(op.message_lane(i)));
      heard_.push_back(op.peers[i]);
    }
    engine.done.push_back(engine.work);
    ++engine.cursor;
  }
  wake(now);
}

void VirtualRank::finish(const Work& work, Picoseconds end) {
  frontier_.finish(work.op->lane, work.ready);
  ++world_.finished_ops;
  world_.event_sink.op(
      rank(), work.ready.program, work.ready.op, work.ready.step, work.begin, work.peer_ready, end,
      work.op->engine_bytes + work.op->bytes * static_cast<std::int64_t>(work.op->peers.size()));
}

// Ends completed program instances and admits the next ones. Returns true if it ended or admitted
// at least one instance.
bool VirtualRank::advance_parts(Picoseconds now) {
  bool any = false;
  while (const auto part = script_.take_complete(frontier_)) {
    end_part(*part, now);
    script_.admit(frontier_);
    any = true;
  }
  return script_.admit(frontier_) || any;
}

void VirtualRank::end_part(const ProgramInstance& part, Picoseconds now) {
  if (part.purpose == plan::Purpose::evaluation && !part.ends_evaluation) return;
  const Times times = account_.take(now);
  if (part.purpose == plan::Purpose::average) {
    if (!std::exchange(averaged_, true))
      world_.average_seconds = std::max(world_.average_seconds, seconds(now - part_began_));
  } else if (part.purpose == plan::Purpose::end) {
    world_.end_seconds = std::max(world_.end_seconds, seconds(now - part_began_));
  } else if (part.purpose == plan::Purpose::evaluation) {
    if (!std::exchange(evaluated_, true))
      world_.evaluation_seconds = std::max(world_.evaluation_seconds, seconds(now - part_began_));
  } else if (part.purpose == plan::Purpose::training) {
    for (std::size_t a = 0; a < kActivities; ++a) training_times_[a] += times[a];
    write_metrics(part.step, times, now);
    if (const auto step = static_cast<std::size_t>(part.step); world_.step_seconds.size() <= step)
      world_.step_seconds.resize(step + 1);
    double& slowest = world_.step_seconds[static_cast<std::size_t>(part.step)];
    slowest = std::max(slowest, seconds(now - part_began_));
  } else {
    world_.start_seconds = std::max(world_.start_seconds, seconds(now));
  }
  part_began_ = now;
}

void VirtualRank::write_metrics(std::int64_t step, const Times& times, Picoseconds now) {
  const auto time = [&](Activity activity) { return times[static_cast<std::size_t>(activity)]; };
  const auto metric = [&](Metric name, Picoseconds value) {
    world_.event_sink.metric(rank(), name, step, now, seconds(value));
  };
  metric(Metric::step_seconds, now - part_began_);
  metric(Metric::compute_seconds, time(Activity::computing));
  metric(Metric::transfer_seconds, time(Activity::adding) + time(Activity::crossing));
  metric(Metric::wait_seconds, time(Activity::waiting));
  metric(Metric::input_seconds, time(Activity::loading));
  for (const auto& [peer, traffic] : world_.wire.traffic(rank())) {
    world_.event_sink.metric(rank(), Metric::sent_payload_bytes, step, now,
                             static_cast<double>(traffic.sent), peer);
    world_.event_sink.metric(rank(), Metric::received_payload_bytes, step, now,
                             static_cast<double>(traffic.received), peer);
  }
}

std::optional<VirtualRank::BlockedOp> VirtualRank::stuck() const {
  for (const Engine& engine : engines_)
    if (!engine.under_way.empty()) {
      const plan::Frontier::Ready& ready = engine.under_way.front().ready;
      return BlockedOp{ready.program, ready.op, ready.step};
    }
  return std::nullopt;
}

}  // namespace trainyard::sim
