// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fault_menu.h"

#include <QCoreApplication>
#include <QMenu>

namespace trainyard::ui {
namespace {

QString fault_text(const char* source) { return QCoreApplication::translate("fault_menu", source); }

}  // namespace

void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered,
                    const std::function<void(session::Command)>& inject_fault) {
  QMenu& faults = *menu.addMenu(fault_text("Inject fault into rank %1").arg(rank));
  faults.setObjectName("faults");
  faults.setToolTipsVisible(true);
  const auto add = [&](const char* name, const QString& words, bool enabled, const QString& outcome,
                       session::Command command) {
    QAction* action = faults.addAction(words, [inject_fault, command] { inject_fault(command); });
    action->setObjectName(name);
    action->setEnabled(enabled);
    action->setToolTip(outcome);
  };
  add("kill", fault_text("Kill"), offered.kill,
      fault_text("Kill the process; detected immediately: %1").arg(offered.outcome),
      session::Command::kill);
  add("stall", fault_text("Stall"), offered.stall,
      fault_text("Suspend the process; after 3 s without a heartbeat the rank counts as failed: %1")
          .arg(offered.outcome),
      session::Command::stall);
  add("wake", fault_text("Continue"), offered.wake, fault_text("Resume the stalled process"),
      session::Command::wake);
  faults.addSeparator();
  add("restart", fault_text("Restart"), offered.restart,
      fault_text(
          "Start a new process for the failed rank; it pulls the parameters and rejoins training"),
      session::Command::restart);
}

void add_link_menu(QMenu& menu, const LinkFaults& offered,
                   const std::function<void(double part)>& carry) {
  QMenu& faults = *menu.addMenu(fault_text("Inject fault into this link"));
  faults.setObjectName("link_faults");
  faults.setToolTipsVisible(true);
  const auto add = [&](const char* name, const QString& words, double part,
                       const QString& outcome) {
    QAction* action = faults.addAction(words, [carry, part] { carry(part); });
    action->setObjectName(name);
    action->setEnabled(offered.possible && offered.part != part);
    action->setToolTip(offered.possible ? outcome
                                        : fault_text("Unavailable: %1").arg(offered.why_not));
  };
  add("cut", fault_text("Cut"), 0,
      fault_text(
          "Transfers on the link block until it is restored, and ranks that depend on them stall"));
  for (const auto& [name, part] :
       {std::pair("slow_50", 0.5), std::pair("slow_10", 0.1), std::pair("slow_1", 0.01)})
    add(name, fault_text("Slow to %1 %").arg(qRound(part * 100)), part,
        fault_text("Each direction gets %1 % of its drawn bandwidth").arg(qRound(part * 100)));
  faults.addSeparator();
  add("restore", fault_text("Restore"), 1, fault_text("Restore the drawn bandwidth"));
}

}  // namespace trainyard::ui
