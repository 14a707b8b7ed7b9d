// SPDX-License-Identifier: GPL-3.0-or-later
// What the language model of the shown run makes up, each time that held-out samples are measured:
// the newest last. It follows the end until one scrolls up.
#pragma once

#include <QPointer>
#include <QWidget>

#include "ui/model/run.h"

class QLabel;
class QPlainTextEdit;

namespace trainyard::ui {

class TextPanel : public QWidget {
  Q_OBJECT
 public:
  explicit TextPanel(QWidget* parent = nullptr);

  void set_run(Run* run);  // null: none; one that is deleted disappears
  QString text() const;    // all that is shown
  QString note() const;    // in its place; "" where there is text

 private:
  void look();
  void show_note();

  QPointer<Run> run_;
  std::size_t looked_ = 0;  // lines of its log
  QLabel* note_;
  QPlainTextEdit* text_;
};

}  // namespace trainyard::ui
