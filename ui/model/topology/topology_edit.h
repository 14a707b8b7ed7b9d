// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of a drawing: plain functions on a topology, called inside `Document::edit`. Objects are
// identified by name, never by pointer. New names are unused ones ("host3"). An edit that is not
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

// Look-up.
std::set<std::string> object_names(const topology::Topology& topology);
// Returns the elements of `picked` that are still in the topology.
SelectedObjects existing_objects(const SelectedObjects& picked, const topology::Topology& topology);
topology::Topology without_positions(
    topology::Topology topology);  // resets all positions, to compare drawings
std::string free_name(const std::set<std::string>& taken,
                      const std::string& prototype);  // "gpu2" -> first unused "gpuN"
topology::Host* find_host(topology::Topology& topology, const std::string& name);
topology::Switch* find_switch(topology::Topology& topology, const std::string& name);
topology::Device* find_device(topology::Topology& topology, const std::string& name);
topology::Host* host_of(topology::Topology& topology, const std::string& device);
const topology::Host* find_host(const topology::Topology& topology, const std::string& name);
const topology::Device* find_device(const topology::Topology& topology, const std::string& name);
const topology::Host* host_of(const topology::Topology& topology, const std::string& device);
std::optional<int> rank_of(const topology::Topology& topology,
                           const std::string& device);  // nothing for an idle device

// Insertion. These functions return the name of the new object.
std::string add_host(topology::Topology& topology, Position place);
std::string add_switch(topology::Topology& topology, Position place);
topology::Device default_device(topology::DeviceKind kind);  // without a name
std::string add_device(topology::Topology& topology, const std::string& host,
                       topology::Device device);  // named by its kind

// Links two objects. Devices of different hosts are not linked directly; their hosts are. Refuses a
// link to itself and a duplicate link.
base::Result<LinkName> connect(topology::Topology& topology, const std::string& from,
                               const std::string& to);
base::Result<void> rename(topology::Topology& topology, const std::string& name,
                          const std::string& to);

// also removes links that lose an end
void remove(topology::Topology& topology, const SelectedObjects& picked);
void move_by(topology::Topology& topology, const std::set<std::string>& names, Position by);
void move_to_host(topology::Topology& topology, const std::string& device,
                  const std::string& host);  // removes links to its old neighbors
void shift_device(topology::Topology& topology, const std::string& device,
                  int by);  // within its host; ranks follow the drawing order

// Roles. If a role may exist only once (chief, evaluator) and another device takes it, its previous
// holder becomes a worker.
bool is_unique_role(topology::Role role);
std::string holder_of(const topology::Topology& topology,
                      topology::Role role);  // holder of a unique role; empty if there is none
void give_role(topology::Topology& topology, const std::string& device, topology::Role role);

// A part of a drawing for copying: full hosts and switches, devices without their host, and the
// links among them.
struct Fragment {
  topology::Topology topology;
  std::vector<topology::Device> devices;

  bool empty() const {
    return topology.hosts.empty() && topology.switches.empty() && devices.empty();
  }
};
Fragment copy_of(const topology::Topology& topology, const SelectedObjects& picked);
// Inserts the fragment under unused names, moved by `by`. Its loose devices join `host`, or a new
// host if there is no such host. Returns the inserted objects.
SelectedObjects paste(topology::Topology& topology, const Fragment& fragment, Position by,
                      const std::string& host);

}  // namespace trainyard::ui
