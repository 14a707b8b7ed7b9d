// SPDX-License-Identifier: GPL-3.0-or-later
// Target of the inspector's edits if something is selected on the canvas: one object, or several of
// one kind that are edited together.
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
  // Kind of the selected objects, such as "Device". Empty if they are of several kinds, because
  // these cannot be edited together.
  QString kind;
  QStringList paths;  // "topology.hosts[0].devices[1]"
  // Fields of the first selected object. The values of this object determine which fields are
  // `used`.
  std::vector<base::FieldDescription> fields;
  base::SharedJson values;  // values of the first object
  QStringList differing;    // fields in which the others differ from the first
};

Target target_of(const topology::Topology& topology, const SelectedObjects& picked);
// Returns the object that contains the field at a problem's path. Returns an empty selection if the
// path leads to no object.
SelectedObjects selection_at(const topology::Topology& topology, const QString& path);

// Sets a field of all objects of the target with one undo command. Commands of consecutive input to
// the field are merged. If the field is a name, the name is also changed in `picked` and in all
// links that use it.
base::Problems set_field(Document& document, const Target& target, const QString& field,
                         const base::Json& value, SelectedObjects& picked);

}  // namespace trainyard::ui
