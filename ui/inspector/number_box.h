// SPDX-License-Identifier: GPL-3.0-or-later
// A spin box for numbers of any size with their unit. It takes whatever is typed and says what it
// means; judging is the document's matter, so that a number out of range can be seen while it is
// being typed.
#pragma once

#include <QAbstractSpinBox>
#include <optional>

#include "core/base/field_table.h"

namespace trainyard::ui {

class NumberBox : public QAbstractSpinBox {
  Q_OBJECT
 public:
  NumberBox(bool whole, const base::Range& range, const QString& unit, QWidget* parent = nullptr);

  void set_zero_text(const QString& text);  // shown for 0: what that means
  void set_value(double value);             // rewrites the text
  std::optional<double> typed() const;      // nothing when it cannot be read
  void stepBy(int steps) override;
  QSize sizeHint() const override;

 signals:
  void edited();  // by a person; ask `typed`

 protected:
  QValidator::State validate(QString& input, int& position) const override;
  StepEnabled stepEnabled() const override;
  void wheelEvent(
      QWheelEvent* event) override;  // only with the focus: scrolling a form must change nothing

 private:
  double step_from(double value, bool up) const;
  QString text_of(double value) const;

  bool whole_;
  base::Range range_;
  QString unit_, zero_text_;
};

}  // namespace trainyard::ui
