// SPDX-License-Identifier: GPL-3.0-or-later
// What a run has measured lately, put onto the drawing it was started on: the state of each device, and on every link the
// bytes of those pairs of ranks whose route crosses it. Devices whose rank died, failed or hung are marked.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "core/session/messages.h"
#include "core/telemetry/history.h"
#include "core/topology/network.h"
#include "ui/canvas/overlay.h"

namespace trainyard::ui {

class RunOverlay {
 public:
  explicit RunOverlay(const topology::Topology& topology);  // of the run; a valid one
  // `status` may be null; `moving`: training goes on, so that what was measured last holds now.
  Overlay overlay(const telemetry::History& history, const session::Status* status, bool moving);
  Overlay failures(const telemetry::History& history) const;  // of a run that is over: the devices that ended it, if any

 private:
  struct Step {
    std::optional<LinkName> link;  // else the bus of `host`
    std::string host;
    bool forward = true;
  };
  const std::vector<Step>& route(int from, int to);
  DeviceOverlay device(const telemetry::History& history, const session::Status* status, int rank, bool moving) const;
  const std::string& name_of(int rank) const { return network_.device(workers_[static_cast<std::size_t>(rank)]).name; }
  int ranks(const telemetry::History& history) const;
  void add_traffic(Overlay& overlay, const telemetry::History& history);

  topology::Topology topology_;
  topology::Network network_;
  std::vector<topology::DeviceId> workers_;
  std::map<std::pair<int, int>, std::vector<Step>> routes_;
};

}  // namespace trainyard::ui
