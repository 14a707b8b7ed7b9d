// SPDX-License-Identifier: GPL-3.0-or-later
// Selected objects of the drawing, by name. Canvas, tree and inspector share one selection.
#pragma once

#include <QObject>
#include <compare>
#include <set>
#include <string>

#include "core/topology/topology.h"

namespace trainyard::ui {

// A link, identified by its two ends in the order of the document and, if several links have the
// same ends in this order, by its position among them.
struct LinkName {
  std::string from, to;
  int position = 0;
  auto operator<=>(const LinkName&) const =
      default;  // NOLINT(modernize-use-nullptr): there is none, clang-tidy 14 thinks so
};

// Returns the names of all links, in the order of the drawing.
std::vector<LinkName> link_names(const topology::Topology& topology);
// Returns the index of the link in the drawing; -1 if there is no such link.
int find_link(const topology::Topology& topology, const LinkName& name);

struct SelectedObjects {
  std::set<std::string> names;  // names of hosts, devices and switches
  std::set<LinkName> links;

  bool empty() const { return names.empty() && links.empty(); }
  std::size_t size() const { return names.size() + links.size(); }
  bool operator==(const SelectedObjects&) const = default;
};

// Returns all hosts, switches and links. Devices are not listed, because their hosts include them.
SelectedObjects everything(const topology::Topology& topology);

class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  const SelectedObjects& picked() const { return picked_; }
  bool contains(const std::string& name) const { return picked_.names.contains(name); }
  bool contains(const LinkName& link) const { return picked_.links.contains(link); }
  void set(SelectedObjects picked);
  void toggle(const SelectedObjects& picked);  // inverts the selection of each element
  void clear() { set({}); }

 signals:
  void selection_changed();

 private:
  SelectedObjects picked_;
};

}  // namespace trainyard::ui
