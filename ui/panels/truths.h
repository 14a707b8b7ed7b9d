// SPDX-License-Identifier: GPL-3.0-or-later
// What must be said beside every figure of a run: emulated devices, drawn speeds that were not imposed, shared cores, what
// was dropped, what is damaged. Pure.
#pragma once

#include <QStringList>
#include <optional>

#include "core/base/result.h"
#include "core/telemetry/history.h"

namespace trainyard::ui {

QStringList truths_of(const telemetry::History& history);

// What went wrong, as the result or the last state of the run says; nothing when nothing did.
std::optional<base::Problem> problem_of(const telemetry::History& history);

}  // namespace trainyard::ui
