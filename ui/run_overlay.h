// SPDX-License-Identifier: GPL-3.0-or-later
// Recent measurements of a run, shown on its drawing: the state of each device, and for every link
// the bytes that each pair of ranks sent over it in the last second of the run. A link without
// recent data has no rate. Marks devices whose rank died, failed or hung, and devices whose rank is
// gone while the other ranks continue.
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
  // Returns the overlay of a run. `status` may be null. `moving`: true if training continues, so
  // that the last measurements are current. `payload`: measures the traffic of links by payload
  // kind; if null, the traffic is not split by kind.
  Overlay overlay(const telemetry::History& history, const session::Status* status, bool moving,
                  const TrafficMeter* payload = nullptr);
  // Returns the overlay of an ended run. It marks only the devices whose failure ended the run.
  Overlay failures(const telemetry::History& history) const;

  // Returns `measured` without the measurements that do not apply to a changed drawing, for example
  // of a device that is idle or of another kind there. Objects are matched by name.
  // `trains_drawing`: see Overlay.
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
  // `latest_`: time of the last data of the run. `heard_`: time at which that data arrived,
  // according to `clock_`.
  double latest_ = -1, heard_ = 0;
};

}  // namespace trainyard::ui
