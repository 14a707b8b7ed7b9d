// SPDX-License-Identifier: GPL-3.0-or-later
// What terminal, window and exports say of a sweep: the same words everywhere.
#pragma once

#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/session/sweep.h"

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
std::string explanation(SweepColumn column);  // what the figure is, with its formula
// By column; "-" where nothing was measured. `figures` as of `scaled`.
std::vector<std::string> row(const SweepVariant& variant, const std::optional<Scaled>& figures);
std::string series_name(const SweepVariant& variant);  // "ring", and "auto (direct)" where that is
                                                       // known; empty for one rank

std::string scaling_said(
    const Sweep& sweep);  // "weak scaling: each rank keeps its batch of 64 samples, ..."
std::string baseline_said(
    const Sweep& sweep);  // "speed-up against 1 rank"; empty while nothing is done
std::string measured_said(
    const Sweep& sweep);  // "median of the full steps after 10 of warm-up, of 50"
std::vector<std::string> truths(
    const Sweep& sweep);  // what belongs beside the times: EMULATED, shared cores, speeds

// One line a variant, full precision, units in the header.
std::string to_csv(const Sweep& sweep);
base::Json to_json(const SweepVariant& variant, const std::optional<Scaled>& figures);

}  // namespace trainyard::session
