// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/topology/topology_selection.h"

#include <utility>

namespace trainyard::ui {
namespace {

template <class T>
void toggle_each(std::set<T>& set, const std::set<T>& others) {
  for (const T& one : others)
    if (set.erase(one) == 0) set.insert(one);
}

}  // namespace

SelectedObjects everything(const topology::Topology& topology) {
  SelectedObjects all;
  for (const topology::Host& host : topology.hosts) all.names.insert(host.name);
  for (const topology::Switch& one : topology.switches) all.names.insert(one.name);
  for (const topology::Link& link : topology.links) all.links.insert({link.from, link.to});
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
