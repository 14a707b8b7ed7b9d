// SPDX-License-Identifier: GPL-3.0-or-later
// Mapping of traffic between ranks to links and buses of the drawing, used by both the canvas and
// the charts.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/history.h"
#include "core/topology/network.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

// One section of a route: a link in one direction, or the bus of `host`, which has no directions.
struct Crossing {
  std::optional<LinkName> link;
  std::string host;
  bool forward = true;  // from the link's `from` to its `to`
  auto operator<=>(const Crossing&) const =
      default;  // NOLINT(modernize-use-nullptr): as for LinkName
};

class LinkTraffic {
 public:
  // topology of a run; must be free of problems
  explicit LinkTraffic(const topology::Topology& topology);
  LinkTraffic(const LinkTraffic&) = delete;
  LinkTraffic& operator=(const LinkTraffic&) = delete;

  // Visits all pairs of ranks with traffic: the total payload sent from one rank to the other, and
  // the crossings of its route. Ranks that are not drawn are skipped.
  using Visit =
      std::function<void(const telemetry::SeriesKey& sent, const std::vector<Crossing>& route)>;
  void visit(const telemetry::History& history, const Visit& visit);

  const topology::Topology& topology() const { return topology_; }
  const topology::Network& network() const { return network_; }
  const std::vector<topology::DeviceId>& ranks() const { return ranks_; }  // rank -> device
  bool on_one_host(int from, int to) const;
  // route between two ranks, in order; empty if there is none
  const std::vector<Crossing>& route(int from, int to);

 private:
  topology::Topology topology_;
  topology::Network network_;
  std::vector<topology::DeviceId> ranks_;
  std::map<std::pair<int, int>, std::vector<Crossing>> routes_;
};

}  // namespace trainyard::ui
