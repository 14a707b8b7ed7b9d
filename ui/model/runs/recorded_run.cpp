// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/recorded_run.h"

#include "core/experiment/field_templates.h"
#include "core/experiment/measured_partition.h"
#include "core/experiment/resolve.h"
#include "ui/model/document/canonical_form.h"

namespace trainyard::ui {
namespace {

// Resets the settings that do not affect what a run trains: its pace, its recording, its
// checkpoints, and how failures are handled.
experiment::Experiment without_watch_settings(experiment::Experiment experiment) {
  const experiment::RunSpec defaults;
  experiment.run.seconds_per_step = defaults.seconds_per_step;
  experiment.run.record_ops = defaults.record_ops;
  experiment.run.hang_seconds = defaults.hang_seconds;
  experiment.run.restarts = defaults.restarts;
  experiment.run.checkpoint_every_steps = defaults.checkpoint_every_steps;
  experiment.run.resume_from = defaults.resume_from;
  experiment.training.epochs = 0;  // the resolved number of steps includes the epochs
  return canonical_form(std::move(experiment));
}

}  // namespace

topology::Topology recorded_topology(const telemetry::History& history) {
  topology::Topology topology;
  base::Problems problems;
  if (const auto json = base::value_at(history.header(), "experiment.document.topology"))
    base::read_document(*json, topology, "", problems);
  return problems.empty() ? topology : topology::Topology();
}

experiment::RunSpec recorded_run(const telemetry::History& history) {
  experiment::RunSpec run;
  base::Problems problems;
  if (const auto json = base::value_at(history.header(), "experiment.document.run"))
    base::read_document(*json, run, "", problems);
  return problems.empty() ? run : experiment::RunSpec();
}

std::optional<experiment::Experiment> recorded_experiment(const telemetry::History& history) {
  const auto json = base::value_at(history.header(), "experiment.document");
  if (!json) return {};
  const auto read = experiment::from_json(*json);
  return read ? std::optional(*read) : std::nullopt;
}

DataAssignment recorded_assignment(const telemetry::History& history) {
  const auto recorded = base::value_at(history.header(), "experiment");
  if (!recorded) return {};
  const auto resolved = experiment::resolved_from_json(*recorded);
  // If the recording is of an older version, only the shards can be read from it.
  return resolved ? data_assignment(*resolved)
                  : DataAssignment{experiment::shards_of(*recorded), {}};
}

std::optional<experiment::StalenessTheory> recorded_staleness_theory(
    const telemetry::History& history) {
  const auto recorded = base::value_at(history.header(), "experiment");
  if (!recorded) return {};
  const auto resolved = experiment::resolved_from_json(*recorded);
  return resolved ? experiment::staleness_theory(*resolved) : std::nullopt;
}

// Compares both experiments after they were resolved with the same data. Therefore a value that the
// user gave equals the same value chosen by `auto`. If the drawing does not set the times of
// layers, the times that the run measured are used for both experiments.
bool trains_as_recorded(const experiment::Experiment& experiment,
                        const std::filesystem::path& directory, const telemetry::History& history) {
  const auto recorded = recorded_experiment(history);
  auto resolved = base::value_at(history.header(), "experiment");
  if (!recorded || !resolved) return false;
  experiment::Experiment given = experiment::located(experiment, directory);
  if (experiment::needs_measured_times(given.strategy))
    given.strategy.stages.times = recorded->strategy.stages.times;
  (*resolved)["document"] = experiment::to_json(given);
  const auto ours = experiment::resolved_from_json(*resolved);
  return ours && without_watch_settings(ours->document) == without_watch_settings(*recorded);
}

}  // namespace trainyard::ui
