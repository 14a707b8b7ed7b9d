// SPDX-License-Identifier: GPL-3.0-or-later
// Models that are refused, each with the id, the location and the data of its problem.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

inline constexpr auto kLinear = LayerKind::linear;
inline constexpr auto kRelu = LayerKind::relu;

struct Bad {
  const char* name;
  std::vector<LayerSpec> layers;
  const char* id;
  const char* where;
  const char* data = "";  // numbers in the message
};

}  // namespace trainyard::model
