// SPDX-License-Identifier: GPL-3.0-or-later
// What the inspector edits when something is selected on the canvas: one thing, or several of a
// kind together.
#pragma once

#include <QString>
#include <QStringList>
#include <vector>

#include "core/base/field_description.h"
#include "ui/model/document.h"
#include "ui/model/topology_selection.h"

namespace trainyard::ui {

struct Target {
  QString title;      // "cpu0", "3 devices"
  QString kind;       // "Device"; empty: several kinds, nothing to edit together
  QStringList paths;  // "topology.hosts[0].devices[1]"
  std::vector<base::FieldDescription> fields;  // of the first; `used` judged by it
  base::Json values;                           // of the first
  QStringList differing;                       // fields in which the others differ from it
};

Target target_of(const topology::Topology& topology, const Picked& picked);
// The thing that a problem's path is about; nothing selected when it is about none.
Picked picked_at(const topology::Topology& topology, const QString& path);

// Sets a field of all of them, as one command; typing on merges. A name goes to every link that
// uses it, and `picked` follows.
base::Problems set_field(Document& document, const Target& target, const QString& field,
                         const base::Json& value, Picked& picked);

}  // namespace trainyard::ui
