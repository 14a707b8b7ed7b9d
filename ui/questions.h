// SPDX-License-Identifier: GPL-3.0-or-later
// Questions that the workbench asks the user. They are function objects, so that tests can replace
// them by functions that give the answers.
#pragma once

#include <QString>
#include <functional>

class QWidget;

namespace trainyard::ui {

enum class SaveAnswer { save, discard, cancel };
enum class LiveRunAnswer { leave_running, stop, cancel };

struct Questions {
  std::function<SaveAnswer(const QString& title)> save_changes;
  std::function<LiveRunAnswer(const QString& run)> close_while_running;
  std::function<QString()> file_to_open;  // file to open; empty: canceled
  std::function<QString(const QString& suggested)> file_to_save;
  std::function<QString(const QString& start)> run_to_open;  // directory of a run; empty: canceled
  std::function<bool(const QString& title, const QString& text, const QString& yes)>
      confirm;  // `yes`: label of the button that accepts
};

Questions dialogs(QWidget* parent);

}  // namespace trainyard::ui
