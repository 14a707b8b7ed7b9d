// SPDX-License-Identifier: GPL-3.0-or-later
// Finds runs that an earlier workbench left running. The directory of such a run contains the
// address of a control endpoint that answers.
#pragma once

#include <QStringList>
#include <functional>

#include "ui/model/runs/run.h"

namespace trainyard::ui {

// Returns the directories of the live runs (runs with a coordinator that answers), newest first. Do
// not call it on the GUI thread, because it waits for the answers of coordinators.
QStringList find_live_runs(const Services& services);
// Runs `find_live_runs` on a pool thread. Then calls `found` with its result on the GUI thread, if
// `context` still exists.
void find_live_runs_later(const Services& services, QObject* context,
                          std::function<void(const QStringList&)> found);

}  // namespace trainyard::ui
