// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected on the drawing, by name: shared by canvas, tree and inspector, and none of them
// owns it.
#pragma once

#include <QObject>
#include <compare>
#include <set>
#include <string>

#include "core/topology/topology.h"

namespace trainyard::ui {

// A link by its ends, as the document has them.
struct LinkName {
  std::string from, to;
  auto operator<=>(const LinkName&) const =
      default;  // NOLINT(modernize-use-nullptr): there is none, clang-tidy 14 thinks so
};

struct Picked {
  std::set<std::string> names;  // of hosts, devices and switches
  std::set<LinkName> links;

  bool empty() const { return names.empty() && links.empty(); }
  std::size_t size() const { return names.size() + links.size(); }
  bool operator==(const Picked&) const = default;
};

// What of `picked` is still in the topology.
Picked still_there(const Picked& picked, const topology::Topology& topology);
// All of it: hosts, switches and links; devices go with their hosts.
Picked everything(const topology::Topology& topology);

class Selection : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;

  const Picked& picked() const { return picked_; }
  bool contains(const std::string& name) const { return picked_.names.contains(name); }
  bool contains(const LinkName& link) const { return picked_.links.contains(link); }
  void set(Picked picked);
  void toggle(const Picked& picked);  // takes out what is in, and puts in what is not
  void clear() { set({}); }

 signals:
  void selection_changed();

 private:
  Picked picked_;
};

}  // namespace trainyard::ui
