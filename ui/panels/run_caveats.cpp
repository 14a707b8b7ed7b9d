// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/panels/run_caveats.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>

#include "core/base/machine.h"
#include "core/base/units.h"
#include "core/base/whole_number.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/imposed.h"
#include "core/experiment/placement.h"
#include "core/experiment/servers.h"
#include "core/telemetry/summary.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

QString text(const char* source) { return QCoreApplication::translate("truths", source); }

// Returns the number of cores of the machine that executed the run. If the run did not record it,
// returns that of this machine.
int cores_of(const telemetry::History& history) {
  const int cores = history.recorded_header().cores;
  return cores > 0 ? cores : base::usable_cores();
}

QString seconds(double value) { return QString::fromStdString(base::format_seconds(value)); }

// Returns a caveat that compares the simulated step time with the median of the measured step
// times.
std::optional<QString> difference(const telemetry::RecordedResult& result) {
  const double simulated = result.simulated_step_seconds, measured = result.step_seconds.median;
  if (std::isnan(simulated) || std::isnan(measured)) return {};
  return text("step time: %1 simulated, %2 measured").arg(seconds(simulated), seconds(measured));
}

// Describes how the run's training differs from training on one device. Reads only those fields of
// the recorded experiment that matter for this.
std::optional<QString> equivalence_caveats(const telemetry::History& history,
                                           const topology::Topology& topology) {
  experiment::Experiment trained;
  trained.topology = topology;
  base::Problems problems;
  const auto read = [&](const char* part, auto& into) {
    if (const auto json =
            base::value_at(history.header(), std::string("experiment.document.") + part))
      base::read_document(*json, into, "", problems);
  };
  read("model", trained.model);
  read("data.sharding", trained.data.sharding);
  read("strategy", trained.strategy);
  read("training", trained.training);
  const auto note = problems.empty() ? experiment::equivalence_caveats(trained) : std::nullopt;
  return note ? std::optional(QString::fromStdString(*note)) : std::nullopt;
}

// Describes the effect of the slowest pace (seconds per step) that was set during the run.
std::optional<QString> pace_caveat(const telemetry::History& history) {
  double slowest = 0;
  for (const telemetry::RecordedState& state : history.recorded_states())
    slowest = std::max(slowest, state.seconds_per_step);
  const auto trained = slowest > 0 ? recorded_experiment(history) : std::nullopt;
  const auto note = trained ? experiment::paced_turns_note(*trained, slowest) : std::nullopt;
  return note ? std::optional(QString::fromStdString(*note)) : std::nullopt;
}

// Returns the total number of dropped events: the sum of the last count that each rank reported.
std::int64_t dropped_events(const telemetry::History& history) {
  double dropped = 0;
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const auto* series = history.find({telemetry::Metric::dropped_events, rank, 0});
        series && !series->values.empty())
      dropped += series->values.back();
  return base::whole_number(dropped);
}

const double* last_of(const telemetry::History& history, telemetry::Metric metric, int rank) {
  const auto* series = history.find({metric, rank, 0});
  return series && !series->values.empty() ? &series->values.back() : nullptr;
}

// Lists the ranks that were slowed down in their last step.
QStringList slowed_down(const telemetry::History& history) {
  QStringList ranks;
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const double* factor = last_of(history, telemetry::Metric::slow_down, rank);
        factor && *factor > 1)
      ranks << text("rank %1 SLOWED DOWN %2×").arg(rank).arg(factor_text(*factor));
  return ranks;
}

// Returns a text with the longest delay of a rank relative to its drawn speed; nothing if no rank
// is delayed.
std::optional<QString> slower_than_drawn(const telemetry::History& history) {
  double most = 0;
  for (int rank = 0; rank < history.ranks(); ++rank)
    if (const double* late = last_of(history, telemetry::Metric::slower_than_drawn_seconds, rank))
      most = std::max(most, *late);
  if (most == 0) return {};
  return text("this machine is slower than the drawn devices: %1 behind so far").arg(seconds(most));
}

}  // namespace

namespace {

// True if messages between machines were not encrypted.
bool was_readable(const telemetry::History& history, const topology::Topology& topology) {
  const auto json = base::value_at(history.header(), "experiment.document.network");
  experiment::NetworkSpec network;
  base::Problems problems;
  if (json) base::read_document(*json, network, "", problems);
  return network.encryption == experiment::Encryption::none &&
         std::ranges::any_of(topology.hosts, experiment::is_other_machine);
}

}  // namespace

QStringList run_caveats(const telemetry::History& history, const topology::Topology& topology) {
  QStringList caveats;
  if (was_readable(history, topology))
    caveats << text("NOT ENCRYPTED: others in the network can read messages between machines");
  if (const auto emulated = experiment::emulation_caveat(topology))
    caveats << text("EMULATED: %1").arg(QString::fromStdString(*emulated));
  if (experiment::count_workers(topology) > 0)
    caveats << QString::fromStdString(experiment::speeds_line(recorded_run(history)));
  caveats << slowed_down(history);
  if (const auto late = slower_than_drawn(history)) caveats << *late;
  if (const auto& result = history.recorded_result())
    if (const auto steps = difference(*result)) caveats << *steps;
  if (const auto shared =
          experiment::shared_cores_caveat(topology, recorded_run(history), cores_of(history)))
    caveats << QString::fromStdString(*shared);
  if (const auto shared = experiment::shared_gpus_caveat(topology))
    caveats << QString::fromStdString(*shared);
  if (const auto caveat = equivalence_caveats(history, topology)) caveats << *caveat;
  if (const auto turns = pace_caveat(history)) caveats << *turns;
  if (const auto step = history.diverged_step())
    caveats << QString::fromStdString(telemetry::divergence(*step));
  if (const auto bad = history.bad_gradients())
    caveats << QString::fromStdString(telemetry::words(*bad));
  if (const auto scale = telemetry::loss_scale(history); scale && scale->steps_without_update > 0)
    caveats << QString::fromStdString(telemetry::words(*scale));
  if (const std::int64_t dropped = dropped_events(history); dropped > 0)
    caveats << text("dropped events: %1; details have gaps, totals are complete")
                   .arg(QString::fromStdString(base::format_count(dropped)));
  if (history.recording_thinned_until() >= 0)
    caveats << text("recording %1")
                   .arg(QString::fromStdString(telemetry::thinning_text(history.thinning())));
  if (history.thinned_until() >= 0)
    caveats << text(
                   "charts thinned up to step %1: of about eight neighboring values, they keep "
                   "the first, least, greatest and last")
                   .arg(QString::fromStdString(base::format_count(history.thinned_until())));
  if (!history.damage().empty()) caveats << QString::fromStdString(history.damage());
  return caveats;
}

}  // namespace trainyard::ui
