// SPDX-License-Identifier: GPL-3.0-or-later
// Questions shared by several parts of the workbench.
#pragma once

#include <QString>

class QWidget;

namespace trainyard::ui {

// Returns true if the user accepts.
bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes);

// Asks for a file to write, with a suffix such as "json". If the file exists, the user must accept
// that it is replaced. Returns an empty string if the user cancels.
QString ask_where_to_save(QWidget* parent, const QString& title, const QString& suggested,
                          const QString& filter, const QString& suffix);

}  // namespace trainyard::ui
