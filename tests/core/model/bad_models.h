// SPDX-License-Identifier: GPL-3.0-or-later
// Models that are refused, each with its message and location.
#pragma once

#include <vector>

#include "core/model/model.h"

namespace trainyard::model {

inline constexpr auto kLinear = LayerKind::linear;
inline constexpr auto kRelu = LayerKind::relu;

struct Bad {
  const char* name;
  std::vector<LayerSpec> layers;
  const char* where;
  const char* what;
};

}  // namespace trainyard::model
