// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>

#include "core/base/result.h"
#include "core/experiment/experiment.h"

namespace trainyard::ui {

struct Services;

struct Detached {
  QString directory;
  qint64 process = -1;
};

// Starts a verb of the command line on a copy of the experiment, in a new directory below `place`,
// which is its --out and is called after time and `name`. In a session of its own: it outlives the
// workbench. What it prints goes to kConsoleFile there.
base::Result<Detached> start_detached(const Services& services, const QString& verb,
                                      const QString& place, const QString& name,
                                      const experiment::Experiment& experiment,
                                      const QStringList& arguments);

}  // namespace trainyard::ui
