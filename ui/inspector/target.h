// SPDX-License-Identifier: GPL-3.0-or-later
// Target of the inspector if something is selected on the canvas: one object, or several of a kind
// together.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "core/base/field_description.h"
#include "ui/model/document/document.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

struct Target {
  QString title;      // "cpu0", "3 devices"
  QString kind;       // "Device"; empty: several kinds, which cannot be edited together
  QStringList paths;  // "topology.hosts[0].devices[1]"
  std::vector<base::FieldDescription> fields;  // fields of the first object; `used` depends on it
  base::Json values;                           // values of the first object
  QStringList differing;                       // fields in which the others differ from the first
};

Target target_of(const topology::Topology& topology, const SelectedObjects& picked);
// Returns the object that a problem's path refers to; an empty selection if there is none.
SelectedObjects selection_at(const topology::Topology& topology, const QString& path);

// Sets a field of all objects as one command; consecutive input merges. If the field is a name,
// also updates `picked` and all links that use the name.
base::Problems set_field(Document& document, const Target& target, const QString& field,
                         const base::Json& value, SelectedObjects& picked);

}  // namespace trainyard::ui
