// SPDX-License-Identifier: GPL-3.0-or-later
// True if two accesses have an element of a buffer in common.
#pragma once

#include "core/plan/plan.h"

namespace trainyard::plan {

inline bool overlap(const Access& a, const Access& b) {
  return a.buffer == b.buffer && a.first < b.first + b.count && b.first < a.first + a.count;
}

}  // namespace trainyard::plan
