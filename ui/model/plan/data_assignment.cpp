// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/plan/data_assignment.h"

#include "core/experiment/vertical.h"

namespace trainyard::ui {

DataAssignment data_assignment(const experiment::Resolved& resolved) {
  DataAssignment made{resolved.shards, {}};
  for (const std::string& line : experiment::columns_text(resolved))
    made.columns << QString::fromStdString(line);
  return made;
}

}  // namespace trainyard::ui
