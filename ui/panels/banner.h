// SPDX-License-Identifier: GPL-3.0-or-later
// A strip above the canvas for what a person must know now: an error with what to do next, or an offer. Stays until it is
// closed; its text can be copied.
#pragma once

#include <QFrame>
#include <functional>

#include "core/base/result.h"
#include "ui/theme/tinted_label.h"

class QPushButton;
class QToolButton;

namespace trainyard::ui {

class Banner : public QFrame {
  Q_OBJECT
 public:
  enum class Kind { information, warning, error };

  explicit Banner(QWidget* parent = nullptr);
  void show_text(Kind kind, const QString& title, const QString& text);
  void show_problem(const QString& title, const base::Problem& problem);  // where, what, what to do
  // What can be done about it, as a button; until the next text. Pressing it closes the banner.
  void offer(const QString& label, const std::function<void()>& act);
  QString text() const;

 signals:
  void closed();

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Kind kind_ = Kind::information;
  TintedLabel *title_, *text_;
  QPushButton* act_;
  QToolButton* copy_;
};

}  // namespace trainyard::ui
