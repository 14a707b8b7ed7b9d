// SPDX-License-Identifier: GPL-3.0-or-later
// Edits of a drawing, each a plain function on a topology: to be called inside `Document::edit`.
// Things are named, never pointed at. New names are free ones ("host3"); what an edit cannot do is
// a Problem and changes nothing.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/topology/topology.h"
#include "ui/model/topology_selection.h"

namespace trainyard::ui {

struct Place {
  double x = 0, y = 0;
};
Place snapped(Place place, double grid = 8);

// Looking up.
std::set<std::string> all_names(const topology::Topology& topology);
topology::Topology without_places(
    topology::Topology topology);  // what is drawn, wherever it stands
std::string free_name(const std::set<std::string>& taken,
                      const std::string& like);  // "gpu2" -> the first free "gpuN"
topology::Host* find_host(topology::Topology& topology, const std::string& name);
topology::Switch* find_switch(topology::Topology& topology, const std::string& name);
topology::Device* find_device(topology::Topology& topology, const std::string& name);
topology::Host* host_of(topology::Topology& topology, const std::string& device);
const topology::Host* find_host(const topology::Topology& topology, const std::string& name);
const topology::Device* find_device(const topology::Topology& topology, const std::string& name);
const topology::Host* host_of(const topology::Topology& topology, const std::string& device);
std::optional<int> rank_of(const topology::Topology& topology,
                           const std::string& device);  // nothing for an idle one

// Adding; the name of what was added is returned.
std::string add_host(topology::Topology& topology, Place place);
std::string add_switch(topology::Topology& topology, Place place);
topology::Device default_device(topology::DeviceKind kind);  // without a name
std::string add_device(topology::Topology& topology, const std::string& host,
                       topology::Device device);  // that is given a name by its kind

// Devices of two hosts cannot be linked themselves: their hosts are. Refused: a link to itself, a
// second link.
base::Result<LinkName> connect(topology::Topology& topology, const std::string& from,
                               const std::string& to);
base::Result<void> rename(topology::Topology& topology, const std::string& name,
                          const std::string& to);

void remove(topology::Topology& topology, const Picked& picked);  // with the links that lose an end
void move_by(topology::Topology& topology, const std::set<std::string>& names, Place by);
void move_to_host(topology::Topology& topology, const std::string& device,
                  const std::string& host);  // links to its old neighbours go
void shift_device(topology::Topology& topology, const std::string& device,
                  int by);  // among its neighbours: ranks follow drawing order

// Roles. The one of a role of which there may be but one (chief, evaluator), taken by another,
// becomes a worker.
bool is_for_one(topology::Role role);
std::string holder_of(const topology::Topology& topology,
                      topology::Role role);  // of a role for one; empty: nobody
void give_role(topology::Topology& topology, const std::string& device, topology::Role role);

// A part of a drawing, to be copied: whole hosts and switches, devices without their host, and the
// links among them.
struct Fragment {
  topology::Topology topology;
  std::vector<topology::Device> devices;

  bool empty() const {
    return topology.hosts.empty() && topology.switches.empty() && devices.empty();
  }
};
Fragment copy_of(const topology::Topology& topology, const Picked& picked);
// Adds the fragment under free names, moved by `by`; its loose devices join `host`, or a new host
// when there is none such. Returns what was added.
Picked paste(topology::Topology& topology, const Fragment& fragment, Place by,
             const std::string& host);

}  // namespace trainyard::ui
