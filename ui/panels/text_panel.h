// SPDX-License-Identifier: GPL-3.0-or-later
// Text that the language model of the displayed run generated at each evaluation, newest last. The
// panel shows the newest text until the user scrolls up.
#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/model/runs/run.h"

class QLabel;
class QPlainTextEdit;

namespace trainyard::ui {

class SampledTextPanel : public QWidget {
  Q_OBJECT
 public:
  explicit SampledTextPanel(QWidget* parent = nullptr);

  void set_run(Run* run);  // run to show, or null; if the run is deleted, the panel is cleared
  QString text() const;    // all displayed text
  QString note() const;    // reason why there is no text; "" if there is text

 private:
  void look();
  void show_note();

  QPointer<Run> run_;
  std::size_t looked_ = 0;  // number of lines read from the run's log
  QLabel* note_;
  QPlainTextEdit* text_;
};

}  // namespace trainyard::ui
