// SPDX-License-Identifier: GPL-3.0-or-later
// What of the data each rank has.
#pragma once

#include <QStringList>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

struct Dealt {
  data::ShardTable shards;  // samples by rank and class; empty where they were not counted
  QStringList columns;  // in their place: the feature columns of each rank, in words; empty where a
                        // rank has all
  bool empty() const { return shards.empty() && columns.isEmpty(); }
  bool operator==(const Dealt&) const = default;
};
Dealt dealt(const experiment::Resolved& resolved);

}  // namespace trainyard::ui
