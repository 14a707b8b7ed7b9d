// SPDX-License-Identifier: GPL-3.0-or-later
// View of the program of one rank in the plan, one op per line. Completed ops have a tick. The op
// of the last step is highlighted.
#pragma once

#include <QPlainTextEdit>

#include "ui/stepper/stepper.h"

namespace trainyard::ui {

class ProgramView : public QPlainTextEdit {
  Q_OBJECT
 public:
  explicit ProgramView(Stepper& stepper, QWidget* parent = nullptr);
  void set_rank(int rank);
  // returns the highlighted line without its tick; empty if the rank took no part in the last step
  QString current_line() const;

 private:
  void show_program();
  void mark(int line);
  void fit();

  Stepper& stepper_;
  int rank_ = 0, current_ = -1;
};

}  // namespace trainyard::ui
