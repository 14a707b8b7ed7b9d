// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/text/fault_text.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/experiment/placement.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/roles.h"
#include "core/experiment/servers.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

using experiment::Experiment;

QString tr(const char* text, const char* disambiguation = nullptr, int n = -1) {
  return QCoreApplication::translate("faults", text, disambiguation, n);
}

int count(const topology::Topology& drawing, topology::Role role) {
  int all = 0;
  for (const topology::Host& host : drawing.hosts)
    all += static_cast<int>(std::ranges::count(host.devices, role, &topology::Device::role));
  return all;
}

// Returns the number of rpc servers. They hold layers and take part in every step of the ranks that
// call them.
std::int64_t count_called(const Experiment& experiment) {
  return experiment.strategy.kind == experiment::StrategyKind::rpc
             ? count(experiment.topology, topology::Role::parameter_server)
             : 0;
}

// Returns a resolved experiment with only the values that determine which ranks may be lost. It is
// used because an experiment with problems cannot be resolved fully.
experiment::Resolved ranks_of(const Experiment& experiment) {
  experiment::Resolved resolved;
  resolved.document = experiment;
  if (experiment::has_servers(experiment.strategy.kind)) {
    resolved.servers = count(experiment.topology, topology::Role::parameter_server);
    resolved.evaluators = count(experiment.topology, topology::Role::evaluator);
  }
  const std::int64_t workers = experiment::count_workers(experiment.topology),
                     ranks = workers + count_called(experiment) + resolved.servers +
                             resolved.evaluators;
  resolved.ranks.resize(static_cast<std::size_t>(ranks));
  resolved.chief = workers > 0 ? experiment::chief_rank(experiment) : 0;
  return resolved;
}

QString ends_the_run() { return tr("the run ends and names the failed rank"); }

// True if the run writes checkpoints. If there is an evaluator, servers write one for each
// evaluation.
bool has_checkpoints(const experiment::Resolved& resolved) {
  return resolved.document.run.checkpoint_every_steps > 0 || resolved.evaluators > 0;
}

// Describes how the work of a rank that cannot rejoin its run can be continued in another run. This
// is possible only with servers, because only they have state from which another process can
// continue.
QString not_back(const experiment::Resolved& resolved) {
  if (!experiment::has_servers(resolved.document.strategy.kind) ||
      !fails_alone(resolved.document.run))
    return tr("not in this run");
  return has_checkpoints(resolved)
             ? tr("not in this run; another run can resume from its last checkpoint "
                  "(run.resume_from)")
             : tr("not in this run; without run.checkpoint_every_steps its training state is lost");
}

QString by_restart(const experiment::RunSpec& run) {
  return run.restarts > 0
             ? tr("automatic (%n restart(s) in total, run.restarts), then by Restart on the device",
                  nullptr, plural(run.restarts))
             : tr("by Restart on the device; automatic with run.restarts");
}

RoleFailure spared(const QString& role, const experiment::Resolved& resolved) {
  const Experiment& document = resolved.document;
  const int least = experiment::min_workers(document.strategy.servers, resolved.workers());
  const QString others = experiment::is_lockstep(document.strategy.servers)
                             ? tr("the others continue with at least %n worker(s): each update "
                                  "needs that many gradients",
                                  nullptr, plural(least))
                             : tr("the others continue, down to the last worker");
  return {role, others, by_restart(document.run)};
}

RoleFailure failure_of(const QString& role, const experiment::Resolved& resolved, int rank) {
  return experiment::is_loss_allowed(resolved, rank)
             ? spared(role, resolved)
             : RoleFailure{role, ends_the_run(), not_back(resolved)};
}

// True if a process of the rank exists in this state, so that faults can be injected into it.
bool is_there(const std::string& state) {
  return state == "running" || state == "waiting" || state == "paused" || state == "stalled" ||
         state == "suspected";
}

bool trains(session::RunState state) {
  return state >= session::RunState::running && state <= session::RunState::stopping;
}

}  // namespace

bool fails_alone(const experiment::RunSpec& run) {
  return run.clock == experiment::RunClock::machine &&
         run.transport != experiment::TransportKind::inproc;
}

bool is_loss_allowed(const Experiment& experiment, int rank) {
  return experiment::is_loss_allowed(ranks_of(experiment), rank);
}

std::vector<RoleFailure> when_ranks_fail(const Experiment& experiment) {
  const experiment::Resolved resolved = ranks_of(experiment);
  if (resolved.workers() < 1) return {};
  if (!fails_alone(experiment.run))
    return {{tr("every rank"), tr("all ranks fail: they are threads of one process"),
             not_back(resolved)}};
  if (resolved.world() == 1) return {failure_of(tr("the only rank"), resolved, 0)};
  const int stores = experiment::storage_rank(experiment);
  std::vector<RoleFailure> lines{
      failure_of(tr("chief (rank %1)").arg(resolved.chief), resolved, resolved.chief)};
  const std::int64_t called = count_called(experiment);
  if (resolved.workers() - called > (stores >= 0 ? 2 : 1))
    lines.push_back(failure_of(tr("other workers"), resolved, resolved.chief));
  if (stores >= 0)
    lines.push_back(failure_of(tr("storage (rank %1)").arg(stores), resolved, stores));
  if (called > 0)
    lines.push_back(failure_of(tr("parameter server"), resolved, resolved.workers() - 1));
  if (resolved.servers > 0)
    lines.push_back({tr("parameter server"), ends_the_run(), not_back(resolved)});
  if (resolved.evaluators > 0)
    lines.push_back({tr("evaluator"),
                     tr("training continues; held-out samples are not measured until it rejoins"),
                     by_restart(experiment.run)});
  return lines;
}

std::optional<LinkFaults> faults_of_link(const Experiment& experiment,
                                         const session::Status& status, int link) {
  if (link < 0 || link >= std::ssize(experiment.topology.links)) return std::nullopt;
  LinkFaults offered;
  offered.link = link;
  const bool imposed = experiment.run.links == experiment::LinkSpeed::imposed;
  offered.possible = imposed && trains(status.state);
  if (!imposed)
    offered.why_not = tr("this run does not impose drawn link speeds: set run.links to imposed");
  else if (!offered.possible) offered.why_not = tr("the run is not training");
  for (const session::LinkBandwidth& slowed : status.links)
    if (slowed.link == offered.link) offered.part = slowed.part;
  return offered;
}

RankFaults faults_of_rank(const Experiment& experiment, const session::Status& status, int rank) {
  RankFaults offered;
  const auto one = std::ranges::find(status.ranks, rank, &session::RankStatus::rank);
  if (one == status.ranks.end()) return offered;
  const experiment::Resolved resolved = ranks_of(experiment);
  const auto lost = [](const session::RankStatus& other) {
    return other.state == "lost" || other.state == "returning";
  };
  const auto left = std::count_if(status.ranks.begin(), status.ranks.end(),
                                  [&](const session::RankStatus& other) {
                                    return other.rank < resolved.workers() && !lost(other);
                                  });
  const bool alone = fails_alone(experiment.run) && trains(status.state),
             there = alone && is_there(one->state);
  const bool is_loss_allowed = experiment::is_loss_allowed(resolved, rank),
             evaluates = resolved.is_evaluator(rank);
  offered.spared =
      is_loss_allowed && (evaluates || left > experiment::min_workers(experiment.strategy.servers,
                                                                      resolved.workers()));
  offered.kill = there;
  offered.stall = there && one->state != "stalled";
  offered.wake = there && one->state == "stalled";
  offered.restart = alone && is_loss_allowed && one->state == "lost";
  offered.outcome =
      !fails_alone(experiment.run)
          ? tr("a rank cannot fail alone: all ranks are threads of one process")
      : evaluates      ? tr("training continues; held-out samples are not measured")
      : offered.spared ? tr("training continues with %n other worker(s)", nullptr, plural(left - 1))
      : is_loss_allowed ? tr("ends the run: too few workers would remain")
                        : tr("ends the run");
  return offered;
}

}  // namespace trainyard::ui
