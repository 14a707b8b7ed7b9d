// SPDX-License-Identifier: GPL-3.0-or-later
// Command line of the workbench, parsed before a display is opened, so that errors are printed on
// the command line.
#pragma once

#include <QCommandLineParser>
#include <QSize>
#include <QString>
#include <optional>

#include "core/base/result.h"

namespace trainyard::app {

struct WorkbenchOptions {
  QString experiment, run_directory, screenshot, settings;  // empty if not given
  std::optional<QSize> size;
  int wait_milliseconds = 0;  // delay of the screenshot
  bool run = false;
};

// Adds the options with their help.
void describe(QCommandLineParser& parser);

// Parses `arguments`, which begin with the program's name. Qt's own options ("-platform offscreen")
// are skipped; Qt reads them.
base::Result<WorkbenchOptions> read_options(const QStringList& arguments);

}  // namespace trainyard::app
