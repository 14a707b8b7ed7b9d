// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/topology/topology_edit.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace trainyard::ui {
namespace {

using base::Problem;
using base::ProblemCode;
using topology::Device;
using topology::DeviceKind;
using topology::Host;
using topology::Link;
using topology::Role;
using topology::Switch;
using topology::Topology;

template <class T>
T* named(std::vector<T>& list, const std::string& name) {
  const auto at = std::ranges::find(list, name, &T::name);
  return at == list.end() ? nullptr : &*at;
}

Problem refused(const char* id, std::string what, std::string accepted = "",
                std::string advice = "") {
  return {id,
          ProblemCode::bad_input,
          "topology",
          std::move(what),
          std::move(accepted),
          std::move(advice)};
}

bool linked(const Topology& topology, const std::string& a, const std::string& b) {
  return std::ranges::any_of(topology.links, [&](const Link& l) {
    return (l.from == a && l.to == b) || (l.from == b && l.to == a);
  });
}

void drop_links_of(Topology& topology, const std::set<std::string>& names) {
  std::erase_if(topology.links, [&](const Link& link) {
    return names.contains(link.from) || names.contains(link.to);
  });
}

}  // namespace

Device default_device(DeviceKind kind) {
  Device device;
  device.kind = kind;
  if (kind != DeviceKind::cpu)
    device.memory_bytes = 16'000'000'000, device.peak_flops = 10e12,
    device.memory_bandwidth_bytes_per_second = 500e9;
  return device;
}

Position snapped(Position place, double grid) {
  return {std::round(place.x / grid) * grid, std::round(place.y / grid) * grid};
}

std::set<std::string> object_names(const Topology& topology) {
  std::set<std::string> names;
  for (const Host& host : topology.hosts) {
    names.insert(host.name);
    for (const Device& device : host.devices) names.insert(device.name);
  }
  for (const Switch& one : topology.switches) names.insert(one.name);
  return names;
}

SelectedObjects existing_objects(const SelectedObjects& picked,
                                 const topology::Topology& topology) {
  SelectedObjects there;
  const std::set<std::string> names = object_names(topology);
  std::ranges::set_intersection(picked.names, names, std::inserter(there.names, there.names.end()));
  for (LinkName& name : link_names(topology))
    if (picked.links.contains(name)) there.links.insert(std::move(name));
  return there;
}

Topology without_positions(Topology topology) {
  for (Host& host : topology.hosts) host.x = host.y = 0;
  for (Switch& one : topology.switches) one.x = one.y = 0;
  return topology;
}

std::string free_name(const std::set<std::string>& taken, const std::string& prototype) {
  std::string stem = prototype.substr(0, prototype.find_last_not_of("0123456789") + 1);
  if (stem.empty()) stem = "device";
  const auto continues = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
  };  // true for continuation bytes of UTF-8
  std::size_t room = std::min<std::size_t>(
      stem.size(), 56);  // names have at most 64 bytes; leaves room for a number
  while (room > 0 && room < stem.size() && continues(stem[room])) --room;
  stem.resize(room);
  for (std::size_t number = 1;; ++number)
    if (std::string name = stem + std::to_string(number); !taken.contains(name)) return name;
}

Host* find_host(Topology& topology, const std::string& name) { return named(topology.hosts, name); }
Switch* find_switch(Topology& topology, const std::string& name) {
  return named(topology.switches, name);
}

Host* host_of(Topology& topology, const std::string& device) {
  for (Host& host : topology.hosts)
    if (named(host.devices, device)) return &host;
  return nullptr;
}

Device* find_device(Topology& topology, const std::string& name) {
  Host* host = host_of(topology, name);
  return host ? named(host->devices, name) : nullptr;
}

const Host* find_host(const Topology& topology, const std::string& name) {
  return find_host(const_cast<Topology&>(topology), name);
}
const Device* find_device(const Topology& topology, const std::string& name) {
  return find_device(const_cast<Topology&>(topology), name);
}
const Host* host_of(const Topology& topology, const std::string& device) {
  return host_of(const_cast<Topology&>(topology), device);
}

std::optional<int> rank_of(const Topology& topology, const std::string& device) {
  int rank = 0;
  for (int of = 0; of < topology::kRankClasses; ++of)
    for (const Host& host : topology.hosts)
      for (const Device& one : host.devices) {
        if (topology::rank_class(one.role) != of) continue;
        if (one.name == device) return rank;
        ++rank;
      }
  return std::nullopt;
}

bool is_unique_role(Role role) { return role == Role::chief || role == Role::evaluator; }

std::string holder_of(const Topology& topology, Role role) {
  if (!is_unique_role(role)) return "";
  for (const Host& host : topology.hosts)
    for (const Device& one : host.devices)
      if (one.role == role) return one.name;
  return "";
}

void give_role(Topology& topology, const std::string& device, Role role) {
  Device* given = find_device(topology, device);
  if (!given) return;
  if (is_unique_role(role))
    for (Host& host : topology.hosts)
      for (Device& one : host.devices)
        if (one.role == role) one.role = Role::worker;
  given->role = role;
}

std::string add_host(Topology& topology, Position place) {
  Host host;
  host.name = free_name(object_names(topology), "host");
  host.x = place.x, host.y = place.y;
  return topology.hosts.emplace_back(std::move(host)).name;
}

std::string add_switch(Topology& topology, Position place) {
  return topology.switches
      .emplace_back(Switch{free_name(object_names(topology), "switch"), place.x, place.y})
      .name;
}

std::string add_device(Topology& topology, const std::string& host, Device device) {
  Host* to = find_host(topology, host);
  if (!to) return "";
  device.name = free_name(object_names(topology), std::string(base::name_of(device.kind)));
  return to->devices.emplace_back(std::move(device)).name;
}

base::Result<LinkName> connect(Topology& topology, const std::string& from, const std::string& to) {
  LinkName link{from, to};
  const Host *from_host = host_of(topology, from), *to_host = host_of(topology, to);
  if (from_host != to_host)
    link = {from_host ? from_host->name : from, to_host ? to_host->name : to};
  if (link.from == link.to)
    return base::fail(refused("link_to_itself", "\"" + link.from + "\" cannot be linked to itself",
                              "two different ends"));
  const auto names = object_names(topology);
  if (!names.contains(link.from) || !names.contains(link.to))
    return base::fail(refused("unknown_link_end", "one end of the link does not exist"));
  if (linked(topology, link.from, link.to))
    return base::fail(refused("duplicate_link",
                              "\"" + link.from + "\" and \"" + link.to + "\" are already linked",
                              "", "Select the link to change its bandwidth."));
  topology.links.emplace_back().from = link.from;
  topology.links.back().to = link.to;
  return link;
}

base::Result<void> rename(Topology& topology, const std::string& name, const std::string& to) {
  if (name == to) return {};
  if (to.empty() || to.size() > 64)
    return base::fail(refused(
        "bad_name", "a name has 1 to 64 bytes in UTF-8 (64 Latin or 21 Chinese characters)"));
  if (object_names(topology).contains(to))
    return base::fail(
        refused("duplicate_name", "the name \"" + to + "\" is already used", "a unique name"));
  if (Host* host = find_host(topology, name)) host->name = to;
  else if (Switch* one = find_switch(topology, name)) one->name = to;
  else if (Device* device = find_device(topology, name)) device->name = to;
  else return base::fail(refused("unknown_name", "nothing is named \"" + name + "\""));
  for (Link& link : topology.links) {
    if (link.from == name) link.from = to;
    if (link.to == name) link.to = to;
  }
  return {};
}

void remove(Topology& topology, const SelectedObjects& picked) {
  const auto gone = [&](const auto& thing) { return picked.names.contains(thing.name); };
  std::set<std::string> names = picked.names;
  for (const Host& host : topology.hosts)
    if (gone(host))
      for (const Device& device : host.devices) names.insert(device.name);
  std::erase_if(topology.hosts, gone);
  for (Host& host : topology.hosts) std::erase_if(host.devices, gone);
  std::erase_if(topology.switches, gone);
  const std::vector<LinkName> links = link_names(topology);
  for (std::size_t l = links.size(); l-- > 0;)
    if (picked.links.contains(links[l]))
      topology.links.erase(topology.links.begin() + static_cast<std::ptrdiff_t>(l));
  drop_links_of(topology, names);
}

void move_by(Topology& topology, const std::set<std::string>& names, Position by) {
  const auto move = [&](auto& thing) {
    if (names.contains(thing.name)) thing.x += by.x, thing.y += by.y;
  };
  std::ranges::for_each(topology.hosts, move);
  std::ranges::for_each(topology.switches, move);
}

void move_to_host(Topology& topology, const std::string& device, const std::string& host) {
  Host *from = host_of(topology, device), *to = find_host(topology, host);
  if (!from || !to || from == to) return;
  const auto at = std::ranges::find(from->devices, device, &Device::name);
  to->devices.push_back(std::move(*at));
  from->devices.erase(at);
  drop_links_of(topology, {device});
}

void shift_device(Topology& topology, const std::string& device, int by) {
  Host* host = host_of(topology, device);
  if (!host) return;
  const auto at = std::ranges::find(host->devices, device, &Device::name);
  const auto target = at - host->devices.begin() + by;
  if (target < 0 || target >= std::ssize(host->devices)) return;
  Device moved = std::move(*at);
  host->devices.erase(at);
  host->devices.insert(host->devices.begin() + target, std::move(moved));
}

}  // namespace trainyard::ui
