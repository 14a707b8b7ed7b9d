// SPDX-License-Identifier: GPL-3.0-or-later
// Questions shared by several parts of the workbench.
#pragma once

#include <QString>

class QWidget;

namespace trainyard::ui {

// Returns true if the user accepts.
bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes);

// Asks for a file to write, with suffix `suffix` ("json"). An existing file is replaced only if the
// user accepts. Empty: canceled.
QString ask_where_to_save(QWidget* parent, const QString& title, const QString& suggested,
                          const QString& filter, const QString& suffix);

}  // namespace trainyard::ui
