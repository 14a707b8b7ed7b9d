// SPDX-License-Identifier: GPL-3.0-or-later
// One rank on the virtual clock. It executes the same loop as run::Interpreter, op by op. Where the
// loop of the interpreter computes or waits, this class schedules an event in the event queue, and
// continues when the event occurs.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "core/sim/account.h"
#include "core/sim/event_queue.h"
#include "core/sim/event_sink.h"
#include "core/sim/pending_collectives.h"
#include "core/sim/script.h"
#include "core/sim/simulator.h"
#include "core/sim/wire.h"

namespace trainyard::sim {

// State that all ranks of a simulation share.
struct SimulationState {
  Wire wire;
  PendingCollectives pending_collectives;
  EventQueue event_queue;
  EventSink event_sink;
  std::vector<double> step_seconds;  // longest time of each step over ranks so far
  double evaluation_seconds = 0;     // longest time, over ranks, of the first evaluation so far
  double average_seconds = 0;        // longest time, over ranks, of the first average so far
  double end_seconds = 0;            // time that the slowest rank needs after the last step
  double start_seconds = 0;          // time at which the last rank reaches the first step
  std::int64_t finished_ops = 0;     // ops that ranks have completed
};

class VirtualRank {
 public:
  VirtualRank(const plan::RankPlan& plan, std::shared_ptr<const RankModel> model,
              ProgramSequence script, LanesPerThread lanes_per_thread, SimulationState& world);

  void wake(Picoseconds now);  // schedules the rank to continue after all other events of this time
  base::Result<void> advance(Picoseconds now);  // runs until every engine is busy or waits
  void end_busy(std::size_t number, Picoseconds now);
  void crossing(bool begins, Picoseconds now) {
    begins ? account_.start(Activity::crossing, now) : account_.stop(Activity::crossing, now);
  }
  // Returns the senders of messages that this rank consumed since the last call.
  std::vector<int> take_acknowledged() { return std::exchange(heard_, {}); }

  bool over() const { return script_.over(); }
  const RankModel& model() const { return *model_; }
  const Times& training_times() const { return training_times_; }

  // Returns the oldest op in progress that waits for a transfer. The error message of a deadlock
  // names it.
  struct BlockedOp {
    int program = 0, op = 0;
    std::int64_t step = 0;
  };
  std::optional<BlockedOp> stuck() const;

 private:
  struct Work {
    const OpModel* op = nullptr;
    plan::Frontier::Ready ready;
    Picoseconds begin = 0, peer_ready = 0;
    // For a send: id of its message. For a collective that an engine runs: index of the pending
    // collective.
    int message = -1;
  };
  enum class Stage { start, poll, input, compute, end };
  // One thread of the rank, and the lanes of the plan that it runs. Offloading always has its own
  // thread.
  struct Engine {
    std::vector<plan::LaneId> comm;
    plan::LaneId input, compute, copy;
    Stage stage = Stage::start;
    bool busy = false, moved = false;
    Activity activity = Activity::computing;
    Work work;  // work in progress
    std::vector<Work> under_way, done;
    std::size_t cursor = 0, kept = 0;
  };

  void add_engines(LanesPerThread lanes_per_thread);
  void assign_lane(Engine& engine, std::size_t lane);
  base::Result<bool> run(std::size_t engine, Picoseconds now);
  base::Result<void> run_stage(std::size_t number, Picoseconds now);
  void start_transfers(Engine& engine, Picoseconds now);
  base::Result<void> poll(std::size_t number, Picoseconds now);
  base::Result<bool> poll_coarse(Work& work, Engine& engine);
  bool poll_send(Work& work, Picoseconds now, Engine& engine);
  base::Result<bool> arrived(const Engine& engine, Work& work) const;
  void try_lane(plan::LaneId lane, Activity activity, std::size_t engine, Picoseconds now);
  void work_on(std::size_t number, const Work& work, Activity activity, Picoseconds now);
  void finish(const Work& work, Picoseconds end);
  bool advance_parts(Picoseconds now);
  void end_part(const ProgramInstance& part, Picoseconds now);
  void write_metrics(std::int64_t step, const Times& times, Picoseconds now);
  const OpModel& op(const plan::Frontier::Ready& ready) const {
    return model_->programs[static_cast<std::size_t>(ready.program)]
        .ops[static_cast<std::size_t>(ready.op)];
  }
  int rank() const { return model_->rank; }

  std::shared_ptr<const RankModel> model_;
  ProgramSequence script_;
  SimulationState& world_;
  mutable plan::Frontier frontier_;
  std::vector<Engine> engines_;
  TimeAccount account_;
  Times training_times_{};
  Picoseconds part_began_ = 0;
  bool averaged_ = false, evaluated_ = false, woken_ = false;
  std::vector<int> heard_;
};

}  // namespace trainyard::sim
