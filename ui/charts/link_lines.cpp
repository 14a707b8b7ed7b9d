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
                       crossed_[one].sent.push_back(sent);
                       crossed_[one].shares.push_back(one.share);
                       if (!one.link && traffic_.on_one_host(sent.rank, sent.index))
                         inner_.insert(one.host);
                     }
                   });
  }

  std::vector<LinkLine> lines(TransportKind transport) {
    for (const LinkName& name : link_names(traffic_.topology())) add_link(name);
    for (const topology::Host& host : traffic_.topology().hosts)
      if (inner_.contains(host.name)) add_bus(host.name, transport);
    return std::move(lines_);
  }

 private:
  void add_link(const LinkName& name) {
    const QString from = QString::fromStdString(name.from);
    QString to = QString::fromStdString(name.to);
    if (name.position > 0) to += QString(" (%1)").arg(name.position + 1);
    const std::size_t before = lines_.size();
    add({name, {}, true}, {from + " to " + to, from + " → " + to, colors_, false});
    add({name, {}, false}, {to + " to " + from, to + " → " + from, colors_, true});
    if (lines_.size() > before) ++colors_;
  }

  // Adds the line of a host's bus. Its label names the medium only if all traffic of the line stays
  // on the host.
  void add_bus(const std::string& host, TransportKind transport) {
    const Section bus{std::nullopt, host, true};
    const auto stays = [this](const telemetry::SeriesKey& sent) {
      return traffic_.on_one_host(sent.rank, sent.index);
    };
    const QString name = chart_text("%1 bus").arg(QString::fromStdString(host));
    const bool all_stay = std::ranges::all_of(crossed_.at(bus).sent, stays);
    add(bus,
        {"bus " + QString::fromStdString(host),
         all_stay ? chart_text("%1 (%2)").arg(name, medium(transport)) : name, colors_++, false});
  }

  void add(const Section& section, LinkLine line) {
    const auto at = crossed_.find(section);
    if (at == crossed_.end()) return;
    line.sent = at->second.sent;
    line.shares = at->second.shares;
    lines_.push_back(std::move(line));
  }

  LinkTraffic traffic_;
  struct Traffic {
    std::vector<telemetry::SeriesKey> sent;
    std::vector<double> shares;
  };
  std::map<Section, Traffic> crossed_;
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
