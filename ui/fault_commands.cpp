// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fault_commands.h"

#include <QMenu>
#include <QPointer>
#include <filesystem>

#include "core/experiment/rank_duties.h"
#include "core/session/checkpoint/checkpoint.h"
#include "ui/fault_menu.h"
#include "ui/model/runs/recorded_run.h"
#include "ui/model/text/count_text.h"
#include "ui/model/text/fault_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/slow_menu.h"

namespace trainyard::ui {

FaultCommands::FaultCommands(RunSession& runs, TopologyView& canvas, const Questions& questions)
    : runs_(runs), canvas_(canvas), questions_(questions) {
  canvas.add_to_context_menu(
      [this](QMenu& menu, const TopologyObject& part) { fill_rank_menu(menu, part); });
  canvas.add_to_context_menu(
      [this](QMenu& menu, const TopologyObject& part) { fill_link_menu(menu, part); });
}

// Adds the fault menu to the context menu of a device that has a rank of the current run.
void FaultCommands::fill_rank_menu(QMenu& menu, const TopologyObject& part) {
  Run* run = runs_.current();
  const auto& overlay = canvas_.topology_scene().overlay();
  if (part.kind != TopologyObject::Kind::device || !run || !run->live() || !run->status() ||
      !overlay)
    return;
  const auto device = overlay->devices.find(part.name);
  const auto recorded = recorded_experiment(run->history());
  if (device == overlay->devices.end() || !recorded) return;
  for (const session::RankStatus& rank : run->status()->ranks) {
    if (rank.rank != device->second.rank) continue;
    add_slow_menu(menu, {rank.rank, rank.slow_down, rank.jitter},
                  [run = QPointer<Run>(run)](const session::Slow& slow) {
                    if (run) run->slow(slow);
                  });
    add_fault_menu(menu, rank.rank, faults_of_rank(*recorded, *run->status(), rank.rank),
                   [this, run = QPointer<Run>(run), rank = rank.rank](session::Command fault) {
                     if (run) inject_fault(*run, fault, rank);
                   });
  }
}

void FaultCommands::fill_link_menu(QMenu& menu, const TopologyObject& part) const {
  Run* run = runs_.current();
  if (part.kind != TopologyObject::Kind::link || !run || !run->live() || !run->status()) return;
  const auto recorded = recorded_experiment(run->history());
  const auto offered =
      recorded ? faults_of_link(*recorded, *run->status(), find_link(recorded->topology, part.link))
               : std::nullopt;
  if (!offered) return;
  add_link_menu(menu, *offered, [run = QPointer<Run>(run), link = offered->link](double carried) {
    if (run) run->set_link(link, carried);
  });
}

// Injects a fault. Asks first if the fault would end the run. That depends on the state of the run
// now, not on its state when the menu was opened.
void FaultCommands::inject_fault(Run& run, session::Command fault, int rank) const {
  const auto recorded = recorded_experiment(run.history());
  const bool spared =
      recorded && run.status() && faults_of_rank(*recorded, *run.status(), rank).spared;
  const QPointer<Run> still = &run;
  const QString who =
      recorded ? tr("rank %1 (%2)").arg(rank).arg(duty_text(experiment::duty_of(*recorded, rank)))
               : tr("rank %1").arg(rank);
  const bool resumes = recorded && experiment::has_servers(recorded->strategy.kind);
  const auto committed =
      resumes ? session::committed_step(std::filesystem::path(run.directory().toStdString()) /
                                        "checkpoints")
              : std::nullopt;
  const QString kept =
      committed
          ? tr("Another run can resume from its checkpoint of step %1.").arg(grouped(*committed))
          : tr("It has written no checkpoint to resume from.");
  const QString text =
      tr("Training cannot continue without %1: killing it ends %2. %3").arg(who, run.name(), kept);
  if (fault == session::Command::kill && !spared &&
      !questions_.confirm(tr("End the run?"), text, tr("Kill rank %1").arg(rank)))
    return;
  if (still) still->inject_fault(fault, rank);
}

}  // namespace trainyard::ui
