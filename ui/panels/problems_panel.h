// SPDX-License-Identifier: GPL-3.0-or-later
// Everything wrong with the experiment, at once: where, what, and what to do. Activating a problem
// goes to its field.
#pragma once

#include <QWidget>

#include "ui/model/document.h"

class QLabel;
class QTextEdit;
class QTreeWidget;

namespace trainyard::ui {

class ProblemsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ProblemsPanel(Document& document, QWidget* parent = nullptr);
  void set_room(const ToldProblems&
                    problems);  // what the plan has no room for: told after those of the document
  QString text() const;         // of the selected problems, else of all: for the clipboard

 signals:
  void activated(const QString& path);
  void count_changed(int count);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void refresh();
  void show_advice();
  void copy() const;
  void show_menu(const QPoint& at);
  Document& document_;
  ToldProblems room_, shown_;
  QTreeWidget* list_;
  QTextEdit* advice_;  // what to do about the current one, in full
  QLabel* empty_;
};

}  // namespace trainyard::ui
