// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/machine_commands.h"

#include <QMenu>
#include <QStatusBar>
#include <algorithm>

#include "core/experiment/placement.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

constexpr int kMachineMessageMilliseconds = 10'000;

}  // namespace

MachineCommands::MachineCommands(QMainWindow& window, Document& document, const Services& services,
                                 Workspace& workspace, CentralArea& center, CanvasActions& canvas,
                                 DockPanels& panels, ManualHelp& manual, const Questions& questions)
    : window_(window),
      document_(document),
      services_(services),
      workspace_(workspace),
      center_(center),
      panels_(panels),
      manual_(manual),
      questions_(questions),
      check_(new QAction(icon("host"), tr("Check &machines"), this)) {
  check_->setShortcut(QKeySequence("F4"));
  check_->setStatusTip(tr("Connect to the machines of the drawing and compare them with it"));
  connect(check_, &QAction::triggered, this, &MachineCommands::check);
  connect(&canvas, &CanvasActions::machine_requested, this, [this] { add(); });
  connect(&panels, &DockPanels::machine_requested, this, [this] { add(); });
  connect(&panels.machines, &MachinesPanel::machine_requested, this, &MachineCommands::add);
  connect(&document, &Document::changed, &center.offers(), &Banner::recheck);
  connect(&panels.known_machines, &KnownMachines::changed, &center.offers(), &Banner::recheck);
  connect(&panels.machines, &MachinesPanel::local_run_requested, this,
          &MachineCommands::local_run_requested);
  connect(&panels.palette, &Palette::removal_requested, this, &MachineCommands::remove);
}

void MachineCommands::fill_run_menu(QMenu& menu) { menu.addAction(check_); }

void MachineCommands::add(const QString& address) {
  if (dialog_) return dialog_->raise();
  dialog_ = new AddMachineDialog(services_, panels_.joined_machines,
                                 panels_.known_machines.ssh_suggestions(), address, &window_);
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
  if (is_joined_address(address)) return remove_joined(address);
  if (const auto removed = panels_.known_machines.remove(address); !removed)
    return center_.errors().show_problem(tr("The machine was not removed"), removed.error());
  window_.statusBar()->showMessage(
      tr("Removed %1 from the list of machines. Hosts of drawings keep the address.").arg(address),
      kMachineMessageMilliseconds);
}

// Ends the agent of a joined machine, after confirmation.
void MachineCommands::remove_joined(const QString& address) {
  if (!questions_.confirm(tr("Remove %1?").arg(address),
                          tr("Its agent ends, and so does a run that uses it. The machine can join "
                             "again only with a new invitation."),
                          tr("Remove machine")))
    return;
  auto* removal = new HostsProcess(this);
  connect(
      removal, &HostsProcess::ended, this,
      [this, removal, address](const base::Problems& problems) {
        removal->deleteLater();
        panels_.joined_machines.refresh();
        if (!problems.empty())
          return center_.errors().show_problem(tr("The machine was not removed"), problems.front());
        window_.statusBar()->showMessage(
            tr("Removed %1. Its agent has ended. Hosts of drawings keep the address.").arg(address),
            kMachineMessageMilliseconds);
      });
  removal->start(services_, {"remove", address, "--json"});
}

// Returns the addresses in the document that are neither in the list of machines nor those of
// joined machines.
QStringList MachineCommands::unknown_machines() const {
  const QStringList known = panels_.known_machines.addresses();
  QStringList unknown;
  for (const topology::Host& host : document_.experiment().topology.hosts)
    if (const QString address = as_text(host.address); experiment::is_other_machine(host) &&
                                                       !known.contains(address) &&
                                                       !unknown.contains(address))
      unknown << address;
  return unknown;
}

void MachineCommands::document_opened() {
  Banner& banner = center_.offers();
  const QStringList unknown = unknown_machines();
  const bool is_free = banner.isHidden() || banner.text() == offered_;
  if (unknown.isEmpty() || !is_free) return;
  banner.show_text(Banner::Kind::information,
                   tr("This experiment uses %n machine(s) that you did not add", nullptr,
                      plural(unknown.size())),
                   tr("%1. Add machines that you may use, or run all ranks on this machine.")
                       .arg(unknown.join(", ")));
  banner.offer(tr("Run on this machine"), [this] {
    emit local_run_requested();
    return true;
  });
  banner.offer_second(tr("Check machines"), [this] {
    check();
    return false;  // the banner stays open above the results
  });
  banner.stays_until([this] { return unknown_machines().isEmpty(); });
  offered_ = banner.text();
}

void MachineCommands::check() {
  center_.show_welcome(false);
  workspace_.raise("machines");
  panels_.machines.check();
}

}  // namespace trainyard::ui
