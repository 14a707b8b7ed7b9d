// SPDX-License-Identifier: GPL-3.0-or-later
// Cost of a plan, known before the plan is executed. It is computed from the plan's ops and
// buffers, not by formulas. Pure.
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
  std::int64_t sent_bytes = 0;  // payload of a full step on the rank that sends the most
  // True if `sent_bytes` is an upper bound: some ranks send less, or samples may use fewer rows of
  // embedding tables.
  bool sent_at_most = false;
  // bytes of the memory arenas on the rank that has the largest ones, without samples and program
  // code
  std::int64_t memory_bytes = 0;
  bool memory_at_most = false;  // true if some ranks need less memory
  std::int64_t steps = 0;
  std::optional<experiment::Savings> savings = {};  // reduction of traffic by compression
  std::string engine =
      {};  // engine that runs full collectives, whose traffic is computed by formula; empty: none

  // Estimated size of the recording; `recording_is_thinned`: it has not all events, because of
  // run.recording_limit_bytes.
  std::int64_t recording_bytes = 0;
  bool recording_is_thinned = false;

  bool operator==(const Cost&) const = default;
};

// Computes the cost of a plan as it is executed. All ranks are examined, because stages, servers
// and inner nodes of a tree have different costs; this is slow for very many ranks. After `stop` is
// requested, the result is meaningless.
Cost cost_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
             const std::stop_token& stop = {});

// Returns the cost in one line, for example "4 ranks, 235,146 parameters, 2,500 steps; each rank:
// sends 1.41 MB per step, needs 4.2 MB of buffers".
QString cost_line(const Cost& cost);

}  // namespace trainyard::ui
