// SPDX-License-Identifier: GPL-3.0-or-later
// Where the bytes between ranks cross the drawing: one reckoning for the canvas and for the charts.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/history.h"
#include "core/topology/network.h"
#include "ui/model/topology_selection.h"

namespace trainyard::ui {

// One thing that a route crosses, once: a link, one way, or the bus of `host`, whose ways are not
// told apart.
struct Crossing {
  std::optional<LinkName> link;
  std::string host;
  bool forward = true;  // from the link's `from` to its `to`
  auto operator<=>(const Crossing&) const =
      default;  // NOLINT(modernize-use-nullptr): as for LinkName
};

class LinkTraffic {
 public:
  explicit LinkTraffic(const topology::Topology& topology);  // of the run; a valid one
  LinkTraffic(const LinkTraffic&) = delete;
  LinkTraffic& operator=(const LinkTraffic&) = delete;

  // Every total of payload that one rank has sent to another, with all that its bytes cross; ranks
  // that are not drawn are left out.
  using Visit =
      std::function<void(const telemetry::SeriesKey& sent, const std::vector<Crossing>& route)>;
  void visit(const telemetry::History& history, const Visit& visit);

  const topology::Topology& topology() const { return topology_; }
  const topology::Network& network() const { return network_; }
  const std::vector<topology::DeviceId>& ranks() const { return ranks_; }  // rank -> device
  bool on_one_host(int from, int to) const;
  const std::vector<Crossing>& route(int from,
                                     int to);  // of ranks, in order; empty where there is none

 private:
  topology::Topology topology_;
  topology::Network network_;
  std::vector<topology::DeviceId> ranks_;
  std::map<std::pair<int, int>, std::vector<Crossing>> routes_;
};

}  // namespace trainyard::ui
