// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/fault_menu.h"

#include <QCoreApplication>
#include <QMenu>

namespace trainyard::ui {
namespace {

QString fault_text(const char* source) { return QCoreApplication::translate("fault_menu", source); }

}  // namespace

void add_fault_menu(QMenu& menu, int rank, const RankFaults& offered,
                    const std::function<void(session::Command)>& befall) {
  QMenu& faults = *menu.addMenu(fault_text("Let rank %1 fail in this run").arg(rank));
  faults.setObjectName("faults");
  faults.setToolTipsVisible(true);
  const auto add = [&](const char* name, const QString& words, bool enabled, const QString& outcome,
                       session::Command command) {
    QAction* action = faults.addAction(words, [befall, command] { befall(command); });
    action->setObjectName(name);
    action->setEnabled(enabled);
    action->setToolTip(outcome);
  };
  add("kill", fault_text("Kill"), offered.kill,
      fault_text("Its process is killed, which is noticed at once: %1").arg(offered.outcome),
      session::Command::kill);
  add("stall", fault_text("Stall"), offered.stall,
      fault_text("Its process stands still; once it has been silent for 3 s it counts as lost: %1")
          .arg(offered.outcome),
      session::Command::stall);
  add("wake", fault_text("Let go on"), offered.wake,
      fault_text("Its process goes on where it stands still"), session::Command::wake);
  faults.addSeparator();
  add("restart", fault_text("Restart"), offered.restart,
      fault_text("A new process takes the place of the lost one, pulls the parameters and trains "
                 "with the others"),
      session::Command::restart);
}

void add_link_menu(QMenu& menu, const LinkFaults& offered,
                   const std::function<void(double part)>& carry) {
  QMenu& faults = *menu.addMenu(fault_text("Let this link fail in this run"));
  faults.setObjectName("link_faults");
  faults.setToolTipsVisible(true);
  const auto add = [&](const char* name, const QString& words, double part,
                       const QString& outcome) {
    QAction* action = faults.addAction(words, [carry, part] { carry(part); });
    action->setObjectName(name);
    action->setEnabled(offered.possible && offered.part != part);
    action->setToolTip(offered.possible ? outcome : fault_text("Not now: %1").arg(offered.why_not));
  };
  add("cut", fault_text("Cut"), 0,
      fault_text("What is on it waits, and who needs it stands still, until it is restored"));
  for (const auto& [name, part] :
       {std::pair("slow_50", 0.5), std::pair("slow_10", 0.1), std::pair("slow_1", 0.01)})
    add(name, fault_text("Slow to %1 %").arg(qRound(part * 100)), part,
        fault_text("Each way carries %1 % of its drawn bandwidth").arg(qRound(part * 100)));
  faults.addSeparator();
  add("restore", fault_text("Restore"), 1, fault_text("It carries what is drawn again"));
}

}  // namespace trainyard::ui
