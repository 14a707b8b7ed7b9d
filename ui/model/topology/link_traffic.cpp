// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/topology/link_traffic.h"

#include <set>

namespace trainyard::ui {

using telemetry::Metric;

LinkTraffic::LinkTraffic(const topology::Topology& topology)
    : topology_(topology),
      network_(topology_),
      ranks_(network_.ranks()),
      links_(link_names(topology_)) {}

LinkTraffic::~LinkTraffic() = default;

void LinkTraffic::visit(const telemetry::History& history, const Visit& visit) {
  const int ranks = static_cast<int>(ranks_.size());
  const auto& series = history.series();
  for (auto at = series.lower_bound({Metric::sent_payload_bytes, 0, 0});
       at != series.end() && at->first.metric == Metric::sent_payload_bytes; ++at)
    if (const int from = at->first.rank, to = at->first.index;
        from < ranks && to < ranks && from != to)
      visit(at->first, route(from, to));
}

bool LinkTraffic::on_one_host(int from, int to) const {
  return network_.host_index(ranks_[static_cast<std::size_t>(from)]) ==
         network_.host_index(ranks_[static_cast<std::size_t>(to)]);
}

const std::vector<Crossing>& LinkTraffic::route(int from, int to) {
  const auto [at, fresh] = routes_.try_emplace({from, to});
  if (!fresh) return at->second;
  const auto found =
      network_.route(ranks_[static_cast<std::size_t>(from)], ranks_[static_cast<std::size_t>(to)]);
  if (found) at->second = crossings(found->hops);
  return at->second;
}

std::vector<Crossing> LinkTraffic::main_route(int from, int to) const {
  const auto found =
      network_.route(ranks_[static_cast<std::size_t>(from)], ranks_[static_cast<std::size_t>(to)]);
  if (!found) return {};
  std::vector<topology::Hop> hops;
  for (const topology::Hop& hop : found->hops)
    if (const int at = hops.empty() ? 0 : hops.back().to; hop.from == at) hops.push_back(hop);
    else if (!hops.empty() && hop.from == hops.back().from && hop.share > hops.back().share)
      hops.back() = hop;
  return crossings(hops);
}

std::vector<Crossing> LinkTraffic::crossings(const std::vector<topology::Hop>& hops) const {
  std::vector<Crossing> route;
  // A route enters and leaves a bus, so the set ensures that a bus is counted only once.
  std::set<std::string> crossed;
  for (const topology::Hop& hop : hops) {
    const topology::Edge& edge = network_.edges()[hop.edge.index()];
    const double share = static_cast<double>(hop.share) / topology::kFullShare;
    if (edge.link >= 0)
      route.push_back({{links_[static_cast<std::size_t>(edge.link)], {}, hop.forward}, share});
    else if (crossed.insert(edge.to).second)
      route.push_back({{std::nullopt, edge.to, true}, share});  // edge from a device to its bus
  }
  return route;
}

}  // namespace trainyard::ui
