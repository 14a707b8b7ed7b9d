// SPDX-License-Identifier: GPL-3.0-or-later
// Copies a fragment of a drawing and inserts it under unused names.
#include <map>

#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

using topology::Device;
using topology::Host;
using topology::Link;
using topology::Switch;
using topology::Topology;

// Gives each copied object an unused name. Stores the new name by the old one, so that the copied
// links can be changed to the new names.
class FragmentInserter {
 public:
  FragmentInserter(Topology& into, Position by)
      : into_(into), by_(by), taken_(object_names(into)) {}

  void add(Host host) {
    host.name = renamed(host.name);
    picked_.names.insert(host.name);
    for (Device& device : host.devices) device.name = renamed(device.name);
    host.x += by_.x, host.y += by_.y;
    into_.hosts.push_back(std::move(host));
  }
  void add(Switch one) {
    one.name = renamed(one.name);
    picked_.names.insert(one.name);
    one.x += by_.x, one.y += by_.y;
    into_.switches.push_back(std::move(one));
  }
  void add(Device device, const std::string& host) {
    device.name = renamed(device.name);
    picked_.names.insert(device.name);
    find_host(into_, host)->devices.push_back(std::move(device));
  }
  void add(Link link) {
    const auto from = names_.find(link.from), to = names_.find(link.to);
    if (from == names_.end() || to == names_.end()) return;
    link.from = from->second, link.to = to->second;
    into_.links.push_back(std::move(link));
    picked_.links.insert(link_names(into_).back());
  }
  const SelectedObjects& picked() const { return picked_; }

 private:
  std::string renamed(const std::string& name) {
    const std::string fresh = taken_.contains(name) ? free_name(taken_, name) : name;
    taken_.insert(fresh);
    names_[name] = fresh;
    return fresh;
  }

  Topology& into_;
  Position by_;
  std::set<std::string> taken_;
  std::map<std::string, std::string> names_;
  SelectedObjects picked_;
};

}  // namespace

Fragment copy_of(const Topology& topology, const SelectedObjects& picked) {
  Fragment fragment;
  for (const Host& host : topology.hosts) {
    if (picked.names.contains(host.name)) {
      fragment.topology.hosts.push_back(host);
      continue;
    }
    for (const Device& device : host.devices)
      if (picked.names.contains(device.name)) fragment.devices.push_back(device);
  }
  for (const Switch& one : topology.switches)
    if (picked.names.contains(one.name)) fragment.topology.switches.push_back(one);
  std::set<std::string> names = object_names(fragment.topology);
  for (const Device& device : fragment.devices) names.insert(device.name);
  for (const Link& link : topology.links)
    if (names.contains(link.from) && names.contains(link.to))
      fragment.topology.links.push_back(link);
  return fragment;
}

SelectedObjects paste(Topology& topology, const Fragment& fragment, Position by,
                      const std::string& host) {
  std::string home = host;
  if (!fragment.devices.empty() && !find_host(topology, home)) home = add_host(topology, by);
  FragmentInserter paster(topology, by);
  for (const Host& one : fragment.topology.hosts) paster.add(one);
  for (const Switch& one : fragment.topology.switches) paster.add(one);
  for (const Device& device : fragment.devices) paster.add(device, home);
  for (const Link& link : fragment.topology.links) paster.add(link);
  return paster.picked();
}

}  // namespace trainyard::ui
