// SPDX-License-Identifier: GPL-3.0-or-later
// Texts about a sweep, shared by command line, workbench and exports.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/session/sweep/sweep.h"

namespace trainyard::session {

enum class SweepColumn {
  ranks,
  algorithm,
  step,
  simulated,
  samples,
  speed_up,
  efficiency,
  step_bytes,
  busiest_bytes,
  formula,
  state
};
inline constexpr int kSweepColumns = static_cast<int>(SweepColumn::state) + 1;

std::string heading(SweepColumn column);
// Returns the description of a table column: the meaning and the formula of its values.
std::string explanation(SweepColumn column);
// Returns the table row of a variant: one text per column, "-" if nothing was measured. `figures`
// is the result of `scaled`.
std::vector<std::string> row(const SweepVariant& variant, const std::optional<Scaled>& figures);
// Returns the name of the algorithm, such as "ring"; for auto, also the algorithm that was
// selected: "auto (direct)". Empty for one rank.
std::string series_name(const SweepVariant& variant);

// Returns a text such as "weak scaling: constant batch per rank, ...".
std::string scaling_text(const Sweep& sweep);
// Returns "speed-up against 1 rank"; empty while no variant has finished.
std::string baseline_text(const Sweep& sweep);
// Returns text such as "median of full steps, 50 steps with 10 of warm-up; evaluation off".
std::string measurement_text(const Sweep& sweep);
// Caveats to show beside the times: emulated devices, shared cores, drawn speeds.
std::vector<std::string> caveats(const Sweep& sweep);

// Returns the sweep as CSV: a header with units, then one line per variant, with full precision.
std::string to_csv(const Sweep& sweep);
base::Json to_json(const SweepVariant& variant, const std::optional<Scaled>& figures);

}  // namespace trainyard::session
