// SPDX-License-Identifier: GPL-3.0-or-later
// Symbolic transfer from one device to another: a chunk of a stepped-through collective. Not a
// measurement.
#pragma once

#include <QString>
#include <string>
#include <vector>

#include "ui/model/topology/link_traffic.h"

namespace trainyard::ui {

struct Transit {
  std::string from, to;         // source and destination device; equal if the chunk stays in place
  std::vector<Crossing> route;  // crossings from source to destination
  QString label;                // "chunk 2: 12"

  bool operator==(const Transit&) const = default;
};

}  // namespace trainyard::ui
