// SPDX-License-Identifier: GPL-3.0-or-later
// What a run has measured lately, put onto the drawing it was started on: the state of each device,
// and on every link the bytes of those pairs of ranks whose route crosses it, in the last second of
// the run: of what is silent since, there is no rate. Devices whose rank died, failed or hung are
// marked, and those that the others go on without.
#pragma once

#include <functional>
#include <optional>

#include "core/session/messages.h"
#include "core/telemetry/history.h"
#include "ui/canvas/overlay.h"
#include "ui/model/cargo_meter.h"
#include "ui/model/link_traffic.h"

namespace trainyard::ui {

class RunOverlay {
 public:
  using Clock = std::function<double()>;  // seconds that go on
  explicit RunOverlay(const topology::Topology& topology,
                      Clock clock = {});  // of the run; a valid one. `clock`: another than this
                                          // machine's, for tests
  // `status` may be null; `moving`: training goes on, so that what was measured last holds now.
  // `cargo`: what links carry; null: that is not told apart.
  Overlay overlay(const telemetry::History& history, const session::Status* status, bool moving,
                  const CargoMeter* cargo = nullptr);
  Overlay failures(const telemetry::History& history)
      const;  // of a run that is over: the devices that ended it, if any

  // What is true on a drawing that is another one by now: not of a device that is of another kind
  // or idle there. Names tell the rest. `as_drawn`: of Overlay.
  Overlay on(const topology::Topology& drawing, Overlay measured, bool as_drawn = false) const;

 private:
  DeviceOverlay device(const telemetry::History& history, const session::Status* status, int rank,
                       std::optional<double> now) const;
  const topology::Device& drawn_device(int rank) const {
    return traffic_.network().device(traffic_.ranks()[static_cast<std::size_t>(rank)]);
  }
  const std::string& name_of(int rank) const { return drawn_device(rank).name; }
  int ranks(const telemetry::History& history) const;
  double now(const telemetry::History& history);  // seconds as in its series
  void add_traffic(Overlay& overlay, const telemetry::History& history,
                   const session::Status* status, double now, const CargoMeter* cargo);

  LinkTraffic traffic_;
  Clock clock_;
  double latest_ = -1, heard_ = 0;  // of what was heard last: its time, and when by `clock_`
};

}  // namespace trainyard::ui
