// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of the data to ranks.
#pragma once

#include <QStringList>

#include "core/experiment/resolve.h"

namespace trainyard::ui {

struct DataAssignment {
  data::ShardTable shards;  // samples by rank and class; empty if not counted
  // feature columns of each rank, as text; used instead of `shards`; empty if each rank has all
  // columns
  QStringList columns;
  bool empty() const { return shards.empty() && columns.isEmpty(); }
  bool operator==(const DataAssignment&) const = default;
};
DataAssignment data_assignment(const experiment::Resolved& resolved);

}  // namespace trainyard::ui
