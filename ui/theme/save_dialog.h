// SPDX-License-Identifier: GPL-3.0-or-later
// Questions that several parts of the window ask.
#pragma once

#include <QString>

class QWidget;

namespace trainyard::ui {

// Whether the person says yes.
bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes);

// A file to write, which ends in `suffix` ("json"); what is there already is only replaced if the
// person says so. Empty: none.
QString ask_where_to_save(QWidget* parent, const QString& title, const QString& suggested,
                          const QString& filter, const QString& suffix);

}  // namespace trainyard::ui
