// SPDX-License-Identifier: GPL-3.0-or-later
// Access to runs' coordinators, and paths of programs. Supplied by app, because only app depends on
// backends.
#pragma once

#include <QString>

#include "core/session/protocol/control.h"

namespace trainyard::ui {

struct Services {
  session::Connect connect;
  QString command_line_program;  // trainyard-cli
  QString runs_directory;        // $XDG_DATA_HOME/trainyard/runs
  QString examples_directory;
  QString manual_directory = {};
};

}  // namespace trainyard::ui
