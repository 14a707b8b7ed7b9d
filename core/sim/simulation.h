// SPDX-License-Identifier: GPL-3.0-or-later
// Event loop: all ranks of a plan on one virtual clock and one drawing.
#pragma once

#include <memory>

#include "core/sim/virtual_rank.h"

namespace trainyard::sim {

class Simulation {
 public:
  // Runs steps 0 to `steps` of `schedule`. This schedule may differ from the schedule of the plan.
  static base::Result<std::unique_ptr<Simulation>> run(
      const plan::Plan& plan, const plan::Schedule& schedule, std::int64_t steps,
      const topology::Network& network, const Options& options, EventSink::Listener listener);

  const SimulationState& world() const { return world_; }
  const std::vector<std::unique_ptr<VirtualRank>>& ranks() const { return ranks_; }
  Picoseconds now() const { return now_; }

 private:
  Simulation(const plan::Plan& plan, const topology::Network& network, Watch watch,
             EventSink::Listener listener)
      : plan_(plan),
        network_(network),
        watch_(std::move(watch)),
        world_{Wire(network, plan.ranks),
               PendingCollectives(network),
               {},
               EventSink(std::move(listener)),
               {}} {}

  base::Result<void> add_rank(int number, const plan::Schedule& schedule, std::int64_t steps,
                              const Options& options);
  base::Result<void> resolve_paths(RankModel& model);
  base::Result<void> loop();
  base::Result<void> check_wanted() const;
  void report_progress();
  base::Result<void> advance(int number);
  void end_collective(int number);
  void send_on(Picoseconds now);
  base::Result<void> handle(const Moment& moment);
  base::Result<void> check_all_over() const;
  std::string describe(const VirtualRank& rank) const;
  VirtualRank& rank(int number) { return *ranks_[static_cast<std::size_t>(number)]; }

  const plan::Plan& plan_;
  const topology::Network& network_;
  Watch watch_;
  std::int64_t expected_ops_ = 0;  // ops of the training steps of all ranks
  int unreported_ = 0;             // moments since the last report of progress
  SimulationState world_;
  std::vector<std::unique_ptr<VirtualRank>> ranks_;
  Picoseconds now_ = 0;
};

}  // namespace trainyard::sim
