// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/questions.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QMessageBox>
#include <QPushButton>

#include "ui/theme/common_dialogs.h"

namespace trainyard::ui {
namespace {

QString question_text(const char* text) { return QCoreApplication::translate("questions", text); }
QString filter() { return question_text("Trainyard experiments (*.json)"); }

SaveAnswer ask_to_save(QWidget* parent, const QString& title) {
  QMessageBox box(QMessageBox::Question, question_text("Save changes?"),
                  question_text("\"%1\" has changes that are not saved.").arg(title),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, parent);
  box.setDefaultButton(QMessageBox::Save);
  const int answer = box.exec();
  return answer == QMessageBox::Save      ? SaveAnswer::save
         : answer == QMessageBox::Discard ? SaveAnswer::discard
                                          : SaveAnswer::cancel;
}

LiveRunAnswer ask_about_run(QWidget* parent, const QString& run) {
  QMessageBox box(QMessageBox::Question, question_text("A run is still running"),
                  question_text("\"%1\" is still training.").arg(run), QMessageBox::Cancel, parent);
  box.setInformativeText(
      question_text("If you leave it running, training continues without the workbench. At the "
                    "next start you can attach to it."));
  const QPushButton* leave =
      box.addButton(question_text("Leave it running"), QMessageBox::AcceptRole);
  const QPushButton* stop = box.addButton(question_text("Stop it"), QMessageBox::DestructiveRole);
  box.exec();
  if (box.clickedButton() == leave) return LiveRunAnswer::leave_running;
  return box.clickedButton() == stop ? LiveRunAnswer::stop : LiveRunAnswer::cancel;
}

}  // namespace

Questions dialogs(QWidget* parent) {
  return {[parent](const QString& title) { return ask_to_save(parent, title); },
          [parent](const QString& run) { return ask_about_run(parent, run); },
          [parent] {
            return QFileDialog::getOpenFileName(parent, question_text("Open experiment"), {},
                                                filter());
          },
          [parent](const QString& suggested) {
            return ask_where_to_save(parent, question_text("Save experiment"), suggested, filter(),
                                     "json");
          },
          [parent](const QString& start) {
            return QFileDialog::getExistingDirectory(
                parent, question_text("Open the directory of a run"), start);
          },
          [parent](const QString& title, const QString& text, const QString& yes) {
            return confirm(parent, title, text, yes);
          }};
}

}  // namespace trainyard::ui
