// SPDX-License-Identifier: GPL-3.0-or-later
// Dialogs of the Help menu.
#pragma once

class QMainWindow;

namespace trainyard::ui {

void show_shortcuts(QMainWindow& window);  // lists the shortcuts of all actions in the menus
void show_about(QMainWindow& window);

}  // namespace trainyard::ui
