// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/truths.h"

#include <sched.h>

#include <QCoreApplication>

#include "core/base/units.h"

namespace trainyard::ui {
namespace {

using base::Json;
using topology::Device;

QString text(const char* source) { return QCoreApplication::translate("truths", source); }

std::vector<Device> workers_of(const topology::Topology& topology) {
  std::vector<Device> workers;
  for (const topology::Host& host : topology.hosts)
    for (const Device& device : host.devices)
      if (device.role == topology::Role::worker) workers.push_back(device);
  return workers;
}

std::string text_at(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

// Every rank's last word on the events that it could not ship.
std::int64_t dropped_events(const telemetry::History& history) {
  double dropped = 0;
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const auto* series = history.find({telemetry::Metric::dropped_events, rank, 0}); series && !series->values.empty()) dropped += series->values.back();
  return static_cast<std::int64_t>(dropped);
}

}  // namespace

topology::Topology recorded_topology(const telemetry::History& history) {
  topology::Topology topology;
  base::Problems problems;
  if (const auto json = base::value_at(history.header(), "experiment.document.topology")) base::read_document(*json, topology, "", problems);
  return problems.empty() ? topology : topology::Topology();
}

std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history) {
  const auto json = base::value_at(history.header(), "experiment.document");
  if (!json) return {};
  const auto read = experiment::from_json(*json);
  return read ? std::optional(*read) : std::nullopt;
}

QStringList truths_of(const telemetry::History& history, int cores) {
  QStringList truths;
  const std::vector<Device> workers = workers_of(recorded_topology(history));
  std::int64_t wanted = 0, emulated = 0;
  for (const Device& device : workers) {
    wanted += device.cores;
    emulated += device.kind != topology::DeviceKind::cpu ? 1 : 0;
  }
  const int ranks = static_cast<int>(workers.size());
  if (emulated > 0) truths << text("EMULATED: %1 of %2 devices run on the CPU").arg(emulated).arg(ranks);
  if (ranks > 0) truths << text("speeds of devices and links: drawn, not imposed");
  if (ranks > 1 && wanted > cores) truths << text("%1 ranks share %2 cores: times include waiting for each other").arg(ranks).arg(cores);
  if (const std::int64_t dropped = dropped_events(history); dropped > 0)
    truths << text("%1 events were dropped: details have gaps, totals do not").arg(QString::fromStdString(base::format_count(dropped)));
  if (!history.damage().empty()) truths << QString::fromStdString(history.damage());
  return truths;
}

int cores_of_this_machine() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::optional<base::Problem> problem_of(const telemetry::History& history) {
  for (const Json* json : {&history.result(), &history.state()}) {
    if (!json->is_object() || !json->contains("problem") || !(*json)["problem"].is_object()) continue;
    const Json& said = (*json)["problem"];
    base::Problem problem{base::ProblemCode::failed, text_at(said, "where"), text_at(said, "what"), text_at(said, "accepted"), text_at(said, "advice")};
    if (text_at(said, "code") == base::name(base::ProblemCode::cancelled)) problem.code = base::ProblemCode::cancelled;
    return problem;
  }
  return {};
}

}  // namespace trainyard::ui
