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

// Starts a command-line verb, such as `run`, in its own session, so that its process outlives the
// workbench. The verb gets a copy of the experiment. Its --out is a new directory below `place`,
// named after the current time and `name`. Its output goes to the file kConsoleFile in that
// directory.
base::Result<Detached> start_detached(const Services& services, const QString& verb,
                                      const QString& place, const QString& name,
                                      const experiment::Experiment& experiment,
                                      const QStringList& arguments);

}  // namespace trainyard::ui
