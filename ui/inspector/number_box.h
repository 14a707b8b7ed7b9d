// SPDX-License-Identifier: GPL-3.0-or-later
// Spin box for numbers of any size with a unit. It accepts any input and reports its value; the
// document validates it, so that numbers out of range are visible during input.
#pragma once

#include <QAbstractSpinBox>
#include <optional>

#include "core/base/field_table.h"

namespace trainyard::ui {

class NumberBox : public QAbstractSpinBox {
  Q_OBJECT
 public:
  NumberBox(bool whole, const base::Range& range, const QString& unit, QWidget* parent = nullptr);

  void set_zero_text(const QString& text);  // text shown for 0: its meaning
  void set_value(double value);             // replaces the text
  std::optional<double> typed() const;      // nothing if unreadable
  void stepBy(int steps) override;
  QSize sizeHint() const override;

 signals:
  void edited();  // by the user; read `typed`

 protected:
  QValidator::State validate(QString& input, int& position) const override;
  StepEnabled stepEnabled() const override;
  void wheelEvent(
      QWheelEvent* event) override;  // only with focus: scrolling a form must not change values

 private:
  double step_from(double value, bool up) const;
  QString text_of(double value) const;

  bool whole_;
  base::Range range_;
  QString unit_, zero_text_;
};

}  // namespace trainyard::ui
