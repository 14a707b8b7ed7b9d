// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan costs, known before it runs. Pure; from the plan itself, not from formulas about it.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/compression.h"
#include "core/plan/plan.h"

namespace trainyard::ui {

struct Cost {
  int ranks = 0;
  std::int64_t parameters = 0;
  std::int64_t sent_bytes = 0;    // payload of a full step, of the rank that sends most among those looked at
  bool sent_at_most = false;      // fewer, where samples name fewer rows of tables than they might
  std::int64_t memory_bytes = 0;  // arenas of such a rank; samples and program are not in it
  std::int64_t steps = 0;
  std::optional<experiment::Savings> savings = {};  // by compression
  std::string engine = {};                          // that takes collectives whole: what it sends it does not report; empty: none

  bool operator==(const Cost&) const = default;
};

// Of a plan as ranks run it. Ranks of one plan differ by a few elements; the first and the last are looked at.
Cost cost_of(const experiment::Resolved& experiment, const plan::Plan& expanded);

QString cost_line(const Cost& cost);  // "4 ranks, 235,146 parameters, 2,500 steps; a rank sends 1.41 MB a step, has 4.2 MB of buffers"

}  // namespace trainyard::ui
