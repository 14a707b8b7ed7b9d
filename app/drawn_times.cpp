// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/drawn_times.h"

#include "core/sim/rank_model.h"
#include "core/sim/simulator.h"

namespace trainyard::app {

base::Result<run::OpTimes> drawn_op_times(const plan::RankPlan& rank, const plan::Plan& plan,
                                          const topology::Device& device,
                                          const topology::Host& host) {
  topology::Device without_slowdown = device;
  without_slowdown.slow_down = 1;
  without_slowdown.jitter = 0;
  return sim::model_rank(rank, plan, without_slowdown, sim::host_link(without_slowdown, host),
                         sim::picoseconds(sim::Options{}.launch_seconds))
      .map([](const sim::RankModel& model) {
        run::OpTimes times;
        for (const sim::ProgramModel& program : model.programs) {
          times.nanoseconds.emplace_back();
          for (const sim::OpModel& op : program.ops)
            times.nanoseconds.back().push_back(sim::nanoseconds(op.takes));
        }
        return times;
      });
}

}  // namespace trainyard::app
