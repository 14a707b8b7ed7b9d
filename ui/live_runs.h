// SPDX-License-Identifier: GPL-3.0-or-later
// Finds runs that an earlier workbench left running. The directory of such a run contains the
// address of a control endpoint that answers.
#pragma once

#include <QStringList>
#include <functional>

#include "ui/model/runs/run.h"

namespace trainyard::ui {

// Returns the directories of the live runs, newest first. Blocks until the endpoints answer: do not
// call it on the GUI thread.
QStringList find_live_runs(const Services& services);
// Runs `find_live_runs` on a pool thread; `found` is called on the GUI thread while `context`
// exists.
void find_live_runs_later(const Services& services, QObject* context,
                          std::function<void(const QStringList&)> found);

}  // namespace trainyard::ui
