// SPDX-License-Identifier: GPL-3.0-or-later
// All ranks of a run on the virtual clock, in one thread: to the coordinator they are as many ranks
// as any other run has, that answer over one connection. Their events bear the times of the clock,
// from the moment on when they were started.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/plan/served.h"
#include "core/session/rank.h"

namespace trainyard::session {

struct VirtualServices {
  Connect connect;
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  // What the clock makes of the drawing; op events go to `on_event`, in virtual nanoseconds from 0.
  // The experiment and the plan outlive it.
  using OnEvent = std::function<void(int rank, const telemetry::Event& event)>;
  std::function<base::Result<std::unique_ptr<plan::ServedOrder>>(
      const experiment::Resolved& experiment, const plan::Plan& plan, OnEvent on_event)>
      make_clock;
};

// `ranks`: all of the run. Success: they finished, or stopped at the horizon as told.
base::Result<void> run_virtual_ranks(const std::vector<RankIdentity>& ranks,
                                     const VirtualServices& services);

}  // namespace trainyard::session
