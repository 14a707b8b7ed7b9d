// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/common_dialogs.h"

#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>

namespace trainyard::ui {
namespace {

QString question_text(const char* text) { return QCoreApplication::translate("questions", text); }

}  // namespace

bool confirm(QWidget* parent, const QString& title, const QString& text, const QString& yes) {
  QMessageBox box(QMessageBox::Warning, title, text, QMessageBox::Cancel, parent);
  const QPushButton* does = box.addButton(yes, QMessageBox::DestructiveRole);
  box.setDefaultButton(QMessageBox::Cancel);
  box.exec();
  return box.clickedButton() == does;
}

QString ask_where_to_save(QWidget* parent, const QString& title, const QString& suggested,
                          const QString& filter, const QString& suffix) {
  QString file = QFileDialog::getSaveFileName(parent, title, suggested, filter);
  if (file.isEmpty() || file.endsWith("." + suffix, Qt::CaseInsensitive)) return file;
  // Asks before an existing file with the suffix is replaced. The dialog has checked only the name
  // without the suffix.
  file += "." + suffix;
  const QString there = question_text("%1 already exists.").arg(QFileInfo(file).fileName());
  return !QFileInfo::exists(file) || confirm(parent, title, there, question_text("Replace"))
             ? file
             : QString();
}

}  // namespace trainyard::ui
