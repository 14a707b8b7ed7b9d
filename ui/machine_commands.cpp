// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machine_commands.h"

#include <QMenu>
#include <QStatusBar>
#include <algorithm>

#include "ui/model/topology/topology_text.h"
#include "ui/run_on_this_machine.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

constexpr int kMachineMessageMilliseconds = 10'000;

}  // namespace

MachineCommands::MachineCommands(QMainWindow& window, Document& document, const Services& services,
                                 Workspace& workspace, CentralArea& center, CanvasActions& canvas,
                                 DockPanels& panels, ManualHelp& manual)
    : window_(window),
      document_(document),
      services_(services),
      workspace_(workspace),
      center_(center),
      panels_(panels),
      manual_(manual),
      check_(new QAction(icon("host"), tr("Check &machines"), this)) {
  check_->setShortcut(QKeySequence("F4"));
  check_->setStatusTip(tr("Connect to the machines of the drawing and compare them with it"));
  connect(check_, &QAction::triggered, this, &MachineCommands::check);
  connect(&canvas, &CanvasActions::machine_requested, this, [this] { add(); });
  connect(&panels, &DockPanels::machine_requested, this, [this] { add(); });
  connect(&panels.machines, &MachinesPanel::machine_requested, this, &MachineCommands::add);
  connect(&panels.machines, &MachinesPanel::local_run_requested, this,
          [this] { clear_addresses(document_); });
  connect(&panels.palette, &Palette::removal_requested, this, &MachineCommands::remove);
}

void MachineCommands::fill_run_menu(QMenu& menu) { menu.addAction(check_); }

void MachineCommands::add(const QString& address) {
  if (dialog_) return dialog_->raise();
  QStringList suggestions = panels_.known_machines.suggestions();
  dialog_ = new AddMachineDialog(services_, suggestions, address, &window_);
  dialog_->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog_, &AddMachineDialog::added, this, &MachineCommands::draw);
  connect(dialog_, &AddMachineDialog::help_requested, this,
          [this] { manual_.show_help_for(dialog_); });
  dialog_->open();
}

// Draws a machine that was added. A machine that is drawn already is not drawn again.
void MachineCommands::draw(const session::Machine& machine) {
  panels_.known_machines.refresh();
  const auto& hosts = document_.experiment().topology.hosts;
  const bool drawn =
      std::ranges::find(hosts, machine.destination, &topology::Host::address) != hosts.end();
  const topology::Host host = drawn_host(machine);
  if (!drawn) center_.show_welcome(false), center_.canvas().place_in_middle(host);
  const QString figures = device_figures(host.devices.front());
  window_.statusBar()->showMessage(
      drawn ? tr("%1 is ready (%2).").arg(as_text(machine.destination), figures)
            : tr("Added %1 (%2). Link its host to the others.")
                  .arg(as_text(machine.destination), figures),
      kMachineMessageMilliseconds);
}

void MachineCommands::remove(const QString& address) {
  if (const auto removed = panels_.known_machines.remove(address); !removed)
    return center_.errors().show_problem(tr("The machine was not removed"), removed.error());
  window_.statusBar()->showMessage(
      tr("Removed %1 from the list of machines. Hosts of drawings keep the address.").arg(address),
      kMachineMessageMilliseconds);
}

void MachineCommands::check() {
  center_.show_welcome(false);
  workspace_.raise("machines");
  panels_.machines.check();
}

}  // namespace trainyard::ui
