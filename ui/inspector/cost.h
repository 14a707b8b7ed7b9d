// SPDX-License-Identifier: GPL-3.0-or-later
// What a plan costs, known before it runs. Pure; from the plan itself, not from formulas about it.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/experiment/compression.h"
#include "core/plan/plan.h"

namespace trainyard::ui {

struct Cost {
  int ranks = 0;
  std::int64_t parameters = 0;
  std::int64_t sent_bytes = 0;  // payload of a full step, of the rank that sends most
  bool sent_at_most = false;    // others send less, or all do, where samples name fewer rows of
                                // tables than they might
  std::int64_t memory_bytes =
      0;  // arenas of the rank that has most; samples and program are not in it
  bool memory_at_most = false;  // others have less
  std::int64_t steps = 0;
  std::optional<experiment::Savings> savings = {};  // by compression
  std::string engine =
      {};  // that takes collectives whole: what a rank sends is by formula; empty: none

  bool operator==(const Cost&) const = default;
};

// Of a plan as ranks run it: all ranks are looked at, for stages, servers and those within a tree
// differ. Of very many that takes a while; once it is told to stop, what it says is of no use.
Cost cost_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
             const std::stop_token& stop = {});

QString cost_line(const Cost& cost);  // "4 ranks, 235,146 parameters, 2,500 steps; a rank
                                      // sends 1.41 MB a step, has 4.2 MB of buffers"

}  // namespace trainyard::ui
