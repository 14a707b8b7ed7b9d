// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/topology/topology_selection.h"

#include <algorithm>
#include <map>
#include <utility>

namespace trainyard::ui {
namespace {

template <class T>
void toggle_each(std::set<T>& set, const std::set<T>& others) {
  for (const T& one : others)
    if (set.erase(one) == 0) set.insert(one);
}

}  // namespace

std::vector<LinkName> link_names(const topology::Topology& topology) {
  std::vector<LinkName> names;
  std::map<std::pair<std::string, std::string>, int> counts;
  for (const topology::Link& link : topology.links)
    names.push_back({link.from, link.to, counts[{link.from, link.to}]++});
  return names;
}

int find_link(const topology::Topology& topology, const LinkName& name) {
  const std::vector<LinkName> names = link_names(topology);
  const auto at = std::ranges::find(names, name);
  return at == names.end() ? -1 : static_cast<int>(at - names.begin());
}

SelectedObjects everything(const topology::Topology& topology) {
  SelectedObjects all;
  for (const topology::Host& host : topology.hosts) all.names.insert(host.name);
  for (const topology::Switch& one : topology.switches) all.names.insert(one.name);
  for (LinkName& name : link_names(topology)) all.links.insert(std::move(name));
  return all;
}

void Selection::set(SelectedObjects picked) {
  if (picked == picked_) return;
  picked_ = std::move(picked);
  emit selection_changed();
}

void Selection::toggle(const SelectedObjects& picked) {
  SelectedObjects next = picked_;
  toggle_each(next.names, picked.names);
  toggle_each(next.links, picked.links);
  set(std::move(next));
}

}  // namespace trainyard::ui
