// SPDX-License-Identifier: GPL-3.0-or-later
// Text sampled from the language model of the displayed run at each evaluation of held-out samples;
// the newest last. It follows the end until the user scrolls up.
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

  void set_run(Run* run);  // run to show, or null; the display of a deleted run is cleared
  QString text() const;    // all displayed text
  QString note() const;    // shown if there is no text; otherwise ""

 private:
  void look();
  void show_note();

  QPointer<Run> run_;
  std::size_t looked_ = 0;  // number of lines read from its log
  QLabel* note_;
  QPlainTextEdit* text_;
};

}  // namespace trainyard::ui
