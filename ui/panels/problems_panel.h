// SPDX-License-Identifier: GPL-3.0-or-later
// List of all problems of the experiment, each with location, description and advice. Activating a
// problem shows the field that has it.
#pragma once

#include <QWidget>

#include "ui/model/document/document.h"

class QLabel;
class QTextEdit;
class QTreeWidget;

namespace trainyard::ui {

class ProblemsPanel : public QWidget {
  Q_OBJECT
 public:
  explicit ProblemsPanel(Document& document, QWidget* parent = nullptr);
  // Sets the problems of devices with too little memory, which are listed after those of the
  // document.
  void set_memory_problems(const DisplayProblems& problems);
  QString text() const;  // text of the selected problems, or of all if none is selected

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
  DisplayProblems memory_problems_, shown_;
  QTreeWidget* list_;
  QTextEdit* advice_;  // full advice for the current problem
  QLabel* empty_;
};

}  // namespace trainyard::ui
