// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/questions.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QMessageBox>
#include <QPushButton>

namespace trainyard::ui {
namespace {

QString tr(const char* text) { return QCoreApplication::translate("questions", text); }
QString filter() { return tr("Trainyard experiments (*.json)"); }

SaveAnswer ask_to_save(QWidget* parent, const QString& title) {
  QMessageBox box(QMessageBox::Question, tr("Save changes?"), tr("\"%1\" has changes that are not saved.").arg(title),
                  QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, parent);
  box.setDefaultButton(QMessageBox::Save);
  const int answer = box.exec();
  return answer == QMessageBox::Save ? SaveAnswer::save : answer == QMessageBox::Discard ? SaveAnswer::discard : SaveAnswer::cancel;
}

LiveRunAnswer ask_about_run(QWidget* parent, const QString& run) {
  QMessageBox box(QMessageBox::Question, tr("A run is alive"), tr("\"%1\" is still training.").arg(run), QMessageBox::Cancel, parent);
  box.setInformativeText(tr("Left running, it goes on without this window; the next start offers to attach to it."));
  const QPushButton* leave = box.addButton(tr("Leave it running"), QMessageBox::AcceptRole);
  const QPushButton* stop = box.addButton(tr("Stop it"), QMessageBox::DestructiveRole);
  box.exec();
  if (box.clickedButton() == leave) return LiveRunAnswer::leave_running;
  return box.clickedButton() == stop ? LiveRunAnswer::stop : LiveRunAnswer::cancel;
}

bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes) {
  QMessageBox box(QMessageBox::Warning, title, text, QMessageBox::Cancel, parent);
  const QPushButton* does = box.addButton(yes, QMessageBox::DestructiveRole);
  box.setDefaultButton(QMessageBox::Cancel);
  box.exec();
  return box.clickedButton() == does;
}

QString ask_where_to_save(QWidget* parent, const QString& suggested) {
  QString file = QFileDialog::getSaveFileName(parent, tr("Save experiment"), suggested, filter());
  if (!file.isEmpty() && !file.endsWith(".json", Qt::CaseInsensitive)) file += ".json";
  return file;
}

}  // namespace

Questions dialogs(QWidget* parent) {
  return {[parent](const QString& title) { return ask_to_save(parent, title); },
          [parent](const QString& run) { return ask_about_run(parent, run); },
          [parent] { return QFileDialog::getOpenFileName(parent, tr("Open experiment"), {}, filter()); },
          [parent](const QString& suggested) { return ask_where_to_save(parent, suggested); },
          [parent](const QString& start) { return QFileDialog::getExistingDirectory(parent, tr("Open the directory of a run"), start); },
          [parent](const QString& title, const QString& text, const QString& yes) { return confirm(parent, title, text, yes); }};
}

}  // namespace trainyard::ui
