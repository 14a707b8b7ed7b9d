// SPDX-License-Identifier: GPL-3.0-or-later
// Names of hosts in the user's configuration of ssh, for completion.
#pragma once

#include <QString>
#include <QStringList>

namespace trainyard::ui {

// Returns the names of the Host entries of an ssh_config file (ssh_config(5)), in order and without
// patterns.
QStringList ssh_hosts(const QString& config);
// Returns the names in ~/.ssh/config.
QStringList configured_ssh_hosts();

}  // namespace trainyard::ui
