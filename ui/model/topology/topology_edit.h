// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of a drawing: functions on a topology, called inside `Document::edit`. Objects are
// identified by name, never by pointer. New objects get unused names ("host3"). An edit that is not
// possible returns a Problem and changes nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/topology/topology.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

struct Position {
  double x = 0, y = 0;
};
Position snapped(Position place, double grid = 8);

// Look-up of objects.
std::set<std::string> object_names(const topology::Topology& topology);
// Returns the selected objects that still exist in the topology.
SelectedObjects existing_objects(const SelectedObjects& picked, const topology::Topology& topology);
// Returns the topology with all positions reset, so that drawings can be compared regardless of
// positions.
topology::Topology without_positions(topology::Topology topology);
// Returns the first unused name that differs from `prototype` only in its number: "gpu3" for
// "gpu2".
std::string free_name(const std::set<std::string>& taken, const std::string& prototype);
topology::Host* find_host(topology::Topology& topology, const std::string& name);
topology::Switch* find_switch(topology::Topology& topology, const std::string& name);
topology::Device* find_device(topology::Topology& topology, const std::string& name);
topology::Host* host_of(topology::Topology& topology, const std::string& device);
const topology::Host* find_host(const topology::Topology& topology, const std::string& name);
const topology::Device* find_device(const topology::Topology& topology, const std::string& name);
const topology::Host* host_of(const topology::Topology& topology, const std::string& device);
std::optional<int> rank_of(const topology::Topology& topology,
                           const std::string& device);  // rank of the device; nothing if it is idle

// Functions that add an object. They return the name of the new object.
std::string add_host(topology::Topology& topology, Position place);
std::string add_switch(topology::Topology& topology, Position place);
topology::Device default_device(topology::DeviceKind kind);  // device of a kind, without a name
// adds a device, which gets a new name derived from its kind
std::string add_device(topology::Topology& topology, const std::string& host,
                       topology::Device device);

// Links two objects. If they are devices of different hosts, the hosts are linked instead. A link
// from an object to itself and a duplicate link are refused.
base::Result<LinkName> connect(topology::Topology& topology, const std::string& from,
                               const std::string& to);
base::Result<void> rename(topology::Topology& topology, const std::string& name,
                          const std::string& to);

// Removes the objects, and the links that end at them.
void remove(topology::Topology& topology, const SelectedObjects& picked);
void move_by(topology::Topology& topology, const std::set<std::string>& names, Position by);
// Moves a device to another host. Its links to devices of the previous host are removed.
void move_to_host(topology::Topology& topology, const std::string& device, const std::string& host);
// Changes the position of a device among the devices of its host. This changes ranks, because ranks
// are numbered in drawing order.
void shift_device(topology::Topology& topology, const std::string& device, int by);

// Functions that change the roles of devices. Only one device may be chief, and only one evaluator:
// the device that had this role before becomes a worker.
bool is_unique_role(topology::Role role);
std::string holder_of(const topology::Topology& topology,
                      topology::Role role);  // device with a unique role; empty if there is none
void give_role(topology::Topology& topology, const std::string& device, topology::Role role);

// Copied objects of a drawing: hosts with all their devices, switches, devices copied without their
// host, and the links among these objects.
struct Fragment {
  topology::Topology topology;
  std::vector<topology::Device> devices;

  bool empty() const {
    return topology.hosts.empty() && topology.switches.empty() && devices.empty();
  }
};
Fragment copy_of(const topology::Topology& topology, const SelectedObjects& picked);
// Inserts the objects of a fragment under unused names, with positions shifted by `by`. Devices
// that were copied without their host are added to `host`, or to a new host if `host` does not
// exist. Returns the inserted objects.
SelectedObjects paste(topology::Topology& topology, const Fragment& fragment, Position by,
                      const std::string& host);

}  // namespace trainyard::ui
