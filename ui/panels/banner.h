// SPDX-License-Identifier: GPL-3.0-or-later
// Strip above the canvas for urgent messages: an error with advice, or an offer. It takes one line
// if possible. Longer texts take a few lines until the user expands them. It stays until it is
// closed; its text can be copied.
#pragma once

#include <QFrame>
#include <array>
#include <functional>

#include "core/base/result.h"
#include "ui/theme/tinted_label.h"

class QBoxLayout;
class QPushButton;
class QToolButton;

namespace trainyard::ui {

class Banner : public QFrame {
  Q_OBJECT
 public:
  enum class Kind { information, warning, error };

  explicit Banner(QWidget* parent = nullptr);
  void show_text(Kind kind, const QString& title, const QString& text);
  // shows the problem with its location and its advice
  void show_problem(const QString& title, const base::Problem& problem);
  // shows the first few problems
  void show_problems(const QString& title, const base::Problems& problems);
  // Adds a button that calls `act`. Showing another text removes the button. If `act` returns true,
  // the banner closes, unless `act` showed another text.
  void offer(const QString& label, const std::function<bool()>& act);
  // Adds a second button to the left of the button of `offer`.
  void offer_second(const QString& label, const std::function<bool()>& act);
  // Sets a condition for closing the banner. When `recheck` is called and `over` returns true, the
  // banner closes. Showing another text removes the condition.
  void stays_until(std::function<bool()> over) { over_ = std::move(over); }
  void recheck();
  QString text() const;  // full text
  bool in_one_line() const;

 signals:
  void closed();

 protected:
  void paintEvent(QPaintEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build();
  int room_beside(bool with_more) const;
  int room(bool with_more) const;
  void fit();
  void fit_text();
  std::array<QWidget*, 5> buttons() const;
  void show_offer(QPushButton& button, const QString& label, const std::function<bool()>& act);
  Kind kind_ = Kind::information;
  QString whole_;  // full text
  unsigned texts_ = 0;
  std::function<bool()> over_;
  TintedLabel *title_, *text_;
  QBoxLayout *row_, *words_;
  QPushButton *first_button_, *second_button_;
  QToolButton *more_, *copy_, *close_;
};

}  // namespace trainyard::ui
