// SPDX-License-Identifier: GPL-3.0-or-later
// What crosses between the stages of a model in parts (part.h).
#pragma once

#include <vector>

#include "core/model/part.h"

namespace trainyard::model {

// An output of a segment that goes to a stage on another rank, or the gradient at it that comes back. To each rank an output goes once.
struct Crossing {
  int value = 0;         // the segment
  int from = 0, to = 0;  // stages
  bool forward() const { return from < to; }
};
std::vector<Crossing> crossings_of(const Model& model, const std::vector<Stage>& stages);  // all forward, then all back

}  // namespace trainyard::model
