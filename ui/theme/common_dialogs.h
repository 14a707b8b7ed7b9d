// SPDX-License-Identifier: GPL-3.0-or-later
// Dialogs that several parts of the workbench use.
#pragma once

#include <QString>

class QWidget;

namespace trainyard::ui {

// Asks a question with the buttons `yes` and Cancel. Returns true if the user accepts.
bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes);

// Asks for the name of a file to write. The name gets the suffix, such as "json", if it lacks it.
// If the file exists, asks whether to replace it. Returns an empty string if the user cancels.
QString ask_where_to_save(QWidget* parent, const QString& title, const QString& suggested,
                          const QString& filter, const QString& suffix);

}  // namespace trainyard::ui
