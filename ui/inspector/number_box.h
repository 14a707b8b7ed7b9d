// SPDX-License-Identifier: GPL-3.0-or-later
// Spin box for a number of any size with a unit. It accepts and reports any number, and the
// document validates the number. Therefore a number that is out of range stays visible while the
// user types.
#pragma once

#include <QAbstractSpinBox>
#include <optional>

#include "core/base/field_table.h"

namespace trainyard::ui {

class NumberBox : public QAbstractSpinBox {
  Q_OBJECT
 public:
  NumberBox(bool whole, const base::Range& range, const QString& unit, QWidget* parent = nullptr);

  void set_zero_text(const QString& text);  // sets the text shown for the value 0
  void set_value(double value);             // replaces the text
  std::optional<double> typed() const;      // nothing if the text is no number
  QString why_unreadable() const;           // the text, and the accepted values
  void stepBy(int steps) override;
  QSize sizeHint() const override;

 signals:
  void edited();  // the user changed the text; read it with `typed`

 protected:
  QValidator::State validate(QString& input, int& position) const override;
  StepEnabled stepEnabled() const override;
  // Changes the value only if the box has the focus, so that scrolling the form does not change a
  // value under the pointer.
  void wheelEvent(QWheelEvent* event) override;

 private:
  double step_from(double value, bool up) const;
  QString text_of(double value) const;

  bool whole_;
  base::Range range_;
  QString unit_, zero_text_;
};

}  // namespace trainyard::ui
