// SPDX-License-Identifier: GPL-3.0-or-later
// The command line of the workbench, read before a display is opened: what is wrong with it is said
// in the terminal.
#pragma once

#include <QCommandLineParser>
#include <QSize>
#include <QString>
#include <optional>

#include "core/base/result.h"

namespace trainyard::app {

struct WorkbenchOptions {
  QString experiment, run_directory, screenshot, settings;  // empty: not given
  std::optional<QSize> size;
  int wait_milliseconds = 0;  // before the screenshot
  bool run = false;
};

// The options and their help.
void describe(QCommandLineParser& parser);

// `arguments` as the program was given them, its name first. Qt's own options ("-platform
// offscreen") are passed over: Qt reads them.
base::Result<WorkbenchOptions> read_options(const QStringList& arguments);

}  // namespace trainyard::app
