// SPDX-License-Identifier: GPL-3.0-or-later
// Recent measurements of a run on its drawing: the state of each device, and for every link the
// bytes that pairs of ranks sent over it in the last second of the run. A series without recent
// points has no rate. Devices whose rank died, failed or hung are marked, as are ranks without
// which the others continue.
#pragma once

#include <functional>
#include <optional>

#include "core/session/protocol/messages.h"
#include "core/telemetry/history.h"
#include "ui/canvas/overlay.h"
#include "ui/model/spans/traffic_meter.h"
#include "ui/model/topology/link_traffic.h"

namespace trainyard::ui {

class RunOverlay {
 public:
  using Clock = std::function<double()>;  // monotonic, in seconds
  // `topology`: the valid topology of the run. `clock`: replaces this machine's clock in tests.
  explicit RunOverlay(const topology::Topology& topology, Clock clock = {});
  // `status` may be null. `moving`: training continues, so the last measurements are current.
  // `payload` splits the traffic of links by payload kind; if it is null, the traffic is not split.
  Overlay overlay(const telemetry::History& history, const session::Status* status, bool moving,
                  const TrafficMeter* payload = nullptr);
  // Returns the overlay of an ended run: only the devices whose failure ended it, if any.
  Overlay failures(const telemetry::History& history) const;

  // Removes measurements that do not apply to a changed drawing, such as those of devices that are
  // of another kind now, or idle. Objects are matched by name. `trains_drawing`: see Overlay.
  Overlay on(const topology::Topology& drawing, Overlay measured,
             bool trains_drawing = false) const;

 private:
  DeviceOverlay device(const telemetry::History& history, const session::Status* status, int rank,
                       std::optional<double> now) const;
  const topology::Device& drawn_device(int rank) const {
    return traffic_.network().device(traffic_.ranks()[static_cast<std::size_t>(rank)]);
  }
  const std::string& name_of(int rank) const { return drawn_device(rank).name; }
  int ranks(const telemetry::History& history) const;
  double now(const telemetry::History& history);  // current time in seconds, as in series
  void add_traffic(Overlay& overlay, const telemetry::History& history,
                   const session::Status* status, double now, const TrafficMeter* payload);

  LinkTraffic traffic_;
  Clock clock_;
  // time of the last data in the run, and when it arrived according to `clock_`
  double latest_ = -1, heard_ = 0;
};

}  // namespace trainyard::ui
