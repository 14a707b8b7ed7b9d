// SPDX-License-Identifier: GPL-3.0-or-later
// Services that app supplies: access to coordinators of runs, and paths of programs. They are
// passed in because only app depends on backends.
#pragma once

#include <QString>
#include <functional>
#include <vector>

#include "core/session/protocol/control.h"

namespace trainyard::ui {

// Network address of this machine, as a number, and the name of its interface, such as eth0.
struct OwnAddress {
  QString address, interface;
};

struct Services {
  session::Connect connect;
  QString command_line_program;  // trainyard-cli
  QString runs_directory;        // $XDG_DATA_HOME/trainyard/runs
  QString examples_directory;
  QString manual_directory = {};
  // Returns the addresses at which other machines may reach this one.
  std::function<std::vector<OwnAddress>()> own_addresses = {};
};

}  // namespace trainyard::ui
