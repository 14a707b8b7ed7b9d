// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/machines/known_machines.h"

#include <unistd.h>

#include <QDir>
#include <QFileInfo>
#include <QSysInfo>
#include <algorithm>

#include "core/base/machine.h"
#include "core/experiment/placement.h"
#include "ui/model/machines/ssh_config.h"

namespace trainyard::ui {
namespace {

// Ranges of the fields of a device (core/topology/topology.h).
constexpr std::int64_t kMostCores = 4096, kLeastMemory = 1'000'000,
                       kMostMemory = 1'000'000'000'000'000;
constexpr qsizetype kNameBytes = 56;  // of at most 64; leaves room for a number

QStringList addresses_of(const std::vector<JoinedMachine>& machines) {
  QStringList addresses;
  for (const JoinedMachine& one : machines)
    addresses << QString::fromStdString(one.machine.destination);
  return addresses;
}

// Returns the host's name without its domain, shortened to what a host of the drawing may have.
std::string name_of(const session::Machine& machine) {
  QString name = QString::fromStdString(machine.host).section('.', 0, 0).trimmed();
  while (name.toUtf8().size() > kNameBytes) name.chop(1);
  return name.isEmpty() ? "host" : name.toStdString();
}

}  // namespace

KnownMachines::KnownMachines(QObject* parent) : QObject(parent) {
  // Watches the directory too: the list is replaced when it is written, and may not exist yet.
  for (const auto signal :
       {&QFileSystemWatcher::fileChanged, &QFileSystemWatcher::directoryChanged})
    connect(&watcher_, signal, this, &KnownMachines::refresh);
  refresh();
}

QStringList KnownMachines::addresses() const {
  QStringList addresses;
  for (const session::Machine& machine : machines_)
    addresses << QString::fromStdString(machine.destination);
  return addresses + addresses_of(joined_);
}

QStringList KnownMachines::ssh_suggestions() const {
  QStringList suggestions;
  for (const session::Machine& machine : machines_)
    suggestions << QString::fromStdString(machine.destination);
  for (const QString& host : configured_ssh_hosts())
    if (!suggestions.contains(host)) suggestions << host;
  return suggestions;
}

QStringList KnownMachines::suggestions() const { return addresses_of(joined_) + ssh_suggestions(); }

void KnownMachines::set_joined(const std::vector<JoinedMachine>& joined) {
  joined_ = joined;
  emit changed();
}

void KnownMachines::refresh() {
  const QFileInfo file(QString::fromStdString(session::machine_list_file().string()));
  for (const QString& path : {file.absoluteFilePath(), file.absolutePath()})
    if (QFileInfo::exists(path)) watcher_.addPath(path);
  const auto read = session::read_machine_list();
  std::vector<session::Machine> machines = read.value_or(std::vector<session::Machine>());
  const auto same = [](const session::Machine& a, const session::Machine& b) {
    return a.destination == b.destination && a.host == b.host && a.cores == b.cores &&
           a.memory_bytes == b.memory_bytes;
  };
  if (std::ranges::equal(machines, machines_, same)) return;
  machines_ = std::move(machines);
  emit changed();
}

base::Result<void> KnownMachines::remove(const QString& address) {
  const auto removed = session::remove_from_list(address.toStdString());
  refresh();
  return removed.map([](bool) {});
}

session::Machine this_machine() {
  return {"",
          QSysInfo::machineHostName().toStdString(),
          QSysInfo::currentCpuArchitecture().toStdString(),
          base::usable_cores(),
          static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE)) *
              static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)),
          {}};
}

topology::Host drawn_host(const session::Machine& machine) {
  topology::Device device = default_device(topology::DeviceKind::cpu);
  device.name = "cpu";
  device.cores = std::clamp<std::int64_t>(machine.cores, 1, kMostCores);
  device.memory_bytes = std::clamp(machine.memory_bytes, kLeastMemory, kMostMemory);
  topology::Host host;
  host.name = name_of(machine);
  host.address = machine.destination;
  host.devices = {device};
  return host;
}

std::string add_machine(topology::Topology& topology, const topology::Host& machine,
                        Position place) {
  const std::set<std::string> taken = object_names(topology);
  topology::Host host = machine;
  host.devices.clear();
  for (int number = 2; taken.contains(host.name); ++number)
    host.name = machine.name + "-" + std::to_string(number);
  host.x = place.x, host.y = place.y;
  const std::string name = topology.hosts.emplace_back(std::move(host)).name;
  for (const topology::Device& device : machine.devices) add_device(topology, name, device);
  return name;
}

int count_other_machines(const topology::Topology& topology) {
  return static_cast<int>(std::ranges::count_if(topology.hosts, &experiment::is_other_machine));
}

void run_on_this_machine(topology::Topology& topology) {
  for (topology::Host& host : topology.hosts) host.address.clear();
}

}  // namespace trainyard::ui
