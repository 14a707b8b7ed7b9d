// SPDX-License-Identifier: GPL-3.0-or-later
// Runs that a workbench before this one left running: their directory names a control endpoint, and
// it answers.
#pragma once

#include <QStringList>
#include <functional>

#include "ui/model/run.h"

namespace trainyard::ui {

// Newest first. Waits for answers: not for the GUI thread.
QStringList find_live_runs(const Services& services);
// The same on a thread of the pool; `found` is called on the GUI thread while `context` lives.
void find_live_runs_later(const Services& services, QObject* context,
                          std::function<void(const QStringList&)> found);

}  // namespace trainyard::ui
