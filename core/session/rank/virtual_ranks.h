// SPDX-License-Identifier: GPL-3.0-or-later
// All ranks of a run on the virtual clock, in one thread. The coordinator sees them as ordinary
// ranks that share one connection. Their events carry times of the virtual clock, which starts when
// the ranks start.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/plan/server_events.h"
#include "core/session/rank/rank.h"

namespace trainyard::session {

struct VirtualServices {
  Connect connect;
  std::function<base::Result<std::unique_ptr<compute::Compute>>(const topology::Device& device)>
      make_compute;
  // Creates the virtual clock for the drawn devices and links. Op events go to `on_event`, in
  // virtual nanoseconds from 0. Experiment and plan must outlive the clock.
  using OnEvent = std::function<void(int rank, const telemetry::Event& event)>;
  std::function<base::Result<std::unique_ptr<plan::ServerEventSource>>(
      const experiment::Resolved& experiment, const plan::Plan& plan, OnEvent on_event)>
      make_clock;
};

// Runs all ranks of the run. Succeeds if they finished, or stopped at the horizon as requested.
base::Result<void> run_virtual_ranks(const std::vector<RankIdentity>& ranks,
                                     const VirtualServices& services);

}  // namespace trainyard::session
