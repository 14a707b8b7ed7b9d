// SPDX-License-Identifier: GPL-3.0-or-later
// Assignment of a split model to ranks: the layers, or shards of layers, of each rank, and the
// traffic between ranks. Pure.
#pragma once

#include <QString>

#include "core/plan/plan.h"
#include "ui/model/plan/algorithm_offers.h"

namespace trainyard::ui {

struct StageAssignment {
  QString text;  // describes the assignment and the ideal idle time; empty if nothing is split
  std::vector<std::string>
      layers;  // layers by rank: "0–1.3", "0–1.20 (1/4)"; empty if nothing is split
  // Logical topology of a step: the bytes between ranks. Empty if single layers are split, because
  // the ranks of such a layer communicate by all-reduce.
  LogicalTopology picture;
};
// Returns the text for a rank's layers: "layers 0–1.3", "layer 2 (1/2)", "the loss". Empty if the
// rank has no layers.
QString held_text(const std::string& layers);

StageAssignment stage_assignment(const experiment::Resolved& experiment,
                                 const plan::Plan& expanded);

}  // namespace trainyard::ui
