// SPDX-License-Identifier: GPL-3.0-or-later
// Mapping from traffic between ranks to links and buses of the drawing. Canvas and charts both use
// it.
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

// A link in one direction, or the bus of `host`. A bus has no directions.
struct Section {
  std::optional<LinkName> link;
  std::string host;
  bool forward = true;  // from the link's `from` to its `to`
  auto operator<=>(const Section&) const =
      default;  // NOLINT(modernize-use-nullptr): as for LinkName
};

// A section of a route, and the share of the messages that takes it.
struct Crossing : Section {
  double share = 1;
};

class LinkTraffic {
 public:
  // `topology`: drawing of a run; it must have no problems
  explicit LinkTraffic(const topology::Topology& topology);
  ~LinkTraffic();
  LinkTraffic(const LinkTraffic&) = delete;
  LinkTraffic& operator=(const LinkTraffic&) = delete;

  // Calls `visit` for each pair of ranks with traffic. `sent` identifies the total payload that one
  // rank sent to the other, and `route` contains the sections of the route between them. Ranks that
  // are not drawn are skipped.
  using Visit =
      std::function<void(const telemetry::SeriesKey& sent, const std::vector<Crossing>& route)>;
  void visit(const telemetry::History& history, const Visit& visit);

  const topology::Topology& topology() const { return topology_; }
  const topology::Network& network() const { return network_; }
  const std::vector<topology::DeviceId>& ranks() const { return ranks_; }  // rank -> device
  bool on_one_host(int from, int to) const;
  // Returns the sections of the route between two ranks, in order. If messages are split, the
  // sections of all parts. Empty if there is no route.
  const std::vector<Crossing>& route(int from, int to);
  // Returns the sections of the route between two ranks; if messages are split over several routes,
  // of the route with the largest part of a message.
  std::vector<Crossing> main_route(int from, int to) const;

 private:
  topology::Topology topology_;
  topology::Network network_;
  std::vector<topology::DeviceId> ranks_;
  std::vector<Crossing> crossings(const std::vector<topology::Hop>& hops) const;

  std::vector<LinkName> links_;
  std::map<std::pair<int, int>, std::vector<Crossing>> routes_;
};

}  // namespace trainyard::ui
