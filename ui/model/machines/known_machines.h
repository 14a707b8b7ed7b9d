// SPDX-License-Identifier: GPL-3.0-or-later
// Machines that the user added, from the list of machines, and machines that joined by invitation.
// Changes of the list by other programs, such as `trainyard-cli hosts add`, are noticed.
#pragma once

#include <QFileSystemWatcher>
#include <QObject>
#include <QStringList>
#include <vector>

#include "core/session/hosts/machine_list.h"
#include "core/topology/topology.h"
#include "ui/model/machines/joined_machines.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {

class KnownMachines : public QObject {
  Q_OBJECT
 public:
  explicit KnownMachines(QObject* parent = nullptr);

  const std::vector<session::Machine>& machines() const { return machines_; }
  const std::vector<JoinedMachine>& joined() const { return joined_; }
  QStringList addresses() const;  // destinations of the machines, including those that joined
  // Destinations of the machines that were added, followed by the other hosts in ~/.ssh/config.
  QStringList ssh_suggestions() const;
  QStringList suggestions() const;  // the same, after the machines that joined
  void refresh();                   // reads the list again
  void set_joined(const std::vector<JoinedMachine>& joined);
  base::Result<void> remove(const QString& address);  // from the list

 signals:
  void changed();

 private:
  std::vector<session::Machine> machines_;
  std::vector<JoinedMachine> joined_;
  QFileSystemWatcher watcher_;
};

// Returns this machine, with an empty destination.
session::Machine this_machine();

// Returns a host with one CPU device that has the cores and the memory of the machine. The host has
// the machine's name and address.
topology::Host drawn_host(const session::Machine& machine);

// Adds a copy of the host at a place, under unused names. Returns its name: that of `machine`, with
// "-2" or another number appended if the name is used.
std::string add_machine(topology::Topology& topology, const topology::Host& machine,
                        Position place);

// Returns the number of hosts that are other machines.
int count_other_machines(const topology::Topology& topology);
// Clears the addresses of all hosts, so that all ranks run on this machine.
void run_on_this_machine(topology::Topology& topology);

}  // namespace trainyard::ui
