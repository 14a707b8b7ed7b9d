// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/charts/link_lines.h"

#include <algorithm>
#include <set>

#include "ui/charts/chart_text.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/topology/link_traffic.h"

namespace trainyard::ui {
namespace {

using experiment::TransportKind;

// Returns the medium that ranks of one host use to communicate; empty if unknown.
QString medium(TransportKind transport) {
  switch (transport) {
    case TransportKind::automatic:
    case TransportKind::shm: return chart_text("shared memory");
    case TransportKind::inproc: return chart_text("within one process");
    case TransportKind::zmq: return chart_text("loopback sockets");
  }
  return {};
}

class Gatherer {
 public:
  Gatherer(const telemetry::History& history, const topology::Topology& topology)
      : traffic_(topology) {
    traffic_.visit(history,
                   [this](const telemetry::SeriesKey& sent, const std::vector<Crossing>& route) {
                     for (const Crossing& one : route) {
                       crossed_[one].push_back(sent);
                       if (!one.link && traffic_.on_one_host(sent.rank, sent.index))
                         inner_.insert(one.host);
                     }
                   });
  }

  std::vector<LinkLine> lines(TransportKind transport) {
    for (const topology::Link& link : traffic_.topology().links)
      add_link(LinkName{link.from, link.to});
    for (const topology::Host& host : traffic_.topology().hosts)
      if (inner_.contains(host.name)) add_bus(host.name, transport);
    return std::move(lines_);
  }

 private:
  void add_link(const LinkName& name) {
    const QString from = QString::fromStdString(name.from), to = QString::fromStdString(name.to);
    const std::size_t before = lines_.size();
    add({name, {}, true}, {from + " to " + to, from + " → " + to, colors_, false});
    add({name, {}, false}, {to + " to " + from, to + " → " + from, colors_, true});
    if (lines_.size() > before) ++colors_;
  }

  // Adds the line of a host's bus. Its label names the medium only if all traffic of the line stays
  // on the host.
  void add_bus(const std::string& host, TransportKind transport) {
    const Crossing bus{std::nullopt, host, true};
    const auto stays = [this](const telemetry::SeriesKey& sent) {
      return traffic_.on_one_host(sent.rank, sent.index);
    };
    const QString name = chart_text("%1 bus").arg(QString::fromStdString(host));
    const bool all_stay = std::ranges::all_of(crossed_.at(bus), stays);
    add(bus,
        {"bus " + QString::fromStdString(host),
         all_stay ? chart_text("%1 (%2)").arg(name, medium(transport)) : name, colors_++, false});
  }

  void add(const Crossing& crossing, LinkLine line) {
    const auto at = crossed_.find(crossing);
    if (at == crossed_.end()) return;
    line.sent = std::move(at->second);
    crossed_.erase(at);  // does not distinguish two links between the same ends
    lines_.push_back(std::move(line));
  }

  LinkTraffic traffic_;
  std::map<Crossing, std::vector<telemetry::SeriesKey>> crossed_;
  std::set<std::string> inner_;  // hosts with traffic between their ranks
  std::vector<LinkLine> lines_;
  int colors_ = 0;
};

}  // namespace

std::vector<LinkLine> link_lines(const telemetry::History& history) {
  const auto recorded = recorded_experiment(history);
  return recorded ? Gatherer(history, recorded->topology).lines(recorded->run.transport)
                  : std::vector<LinkLine>();
}

}  // namespace trainyard::ui
