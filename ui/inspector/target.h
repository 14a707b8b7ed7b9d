// SPDX-License-Identifier: GPL-3.0-or-later
// Object or objects that the inspector edits if something is selected on the canvas. Several
// objects of one kind are edited together.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "core/base/field_description.h"
#include "ui/model/document/document.h"
#include "ui/model/topology/topology_selection.h"

namespace trainyard::ui {

struct Target {
  QString title;  // "cpu0", "3 devices"
  // "Device"; empty if objects of several kinds are selected, which cannot be edited together
  QString kind;
  QStringList paths;  // "topology.hosts[0].devices[1]"
  // fields of the first object; its values decide which are `used`
  std::vector<base::FieldDescription> fields;
  base::SharedJson values;  // values of the first object
  QStringList differing;    // fields in which the others differ from the first
};

Target target_of(const topology::Topology& topology, const SelectedObjects& picked);
// Returns the object that a problem's path refers to; an empty selection if there is none.
SelectedObjects selection_at(const topology::Topology& topology, const QString& path);

// Sets a field of all objects in one command; commands of consecutive input are merged. If the
// field is a name, `picked` and all links that use the name are updated too.
base::Problems set_field(Document& document, const Target& target, const QString& field,
                         const base::Json& value, SelectedObjects& picked);

}  // namespace trainyard::ui
