// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/number_box.h"

#include <QLineEdit>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "ui/inspector/quantity.h"

namespace trainyard::ui {

NumberBox::NumberBox(bool whole, const base::Range& range, const QString& unit, QWidget* parent)
    : QAbstractSpinBox(parent), whole_(whole), range_(range), unit_(unit) {
  setFocusPolicy(Qt::StrongFocus);
  setKeyboardTracking(true);
  connect(lineEdit(), &QLineEdit::textEdited, this, &NumberBox::edited);
}

void NumberBox::set_zero_text(const QString& text) { zero_text_ = text; }

QString NumberBox::text_of(double value) const {
  return value == 0 && !zero_text_.isEmpty() ? zero_text_ : format_quantity(value, unit_);
}

void NumberBox::set_value(double value) { lineEdit()->setText(text_of(value)); }

std::optional<double> NumberBox::typed() const {
  const QString text = lineEdit()->text().trimmed();
  if (!zero_text_.isEmpty() && text == zero_text_) return 0;
  const auto value = parse_quantity(text, unit_);
  return value && whole_ && *value != std::floor(*value) ? std::nullopt : value;
}

QString NumberBox::why_unreadable() const {
  return (whole_ ? tr("\"%1\" is not a whole number (accepted: %2 to %3)")
                 : tr("\"%1\" is not a number (accepted: %2 to %3)"))
      .arg(lineEdit()->text().trimmed(), format_quantity(range_.low, unit_),
           format_quantity(range_.high, unit_));
}

// Returns the next value when the user steps up or down. A count changes by 1, 10 or 100, depending
// on its size; a fraction changes by 0.01. Values that span powers of ten change to the next number
// of the form 1, 2 or 5 times a power of ten.
double NumberBox::step_from(double value, bool up) const {
  const double way = up ? 1 : -1;
  if (whole_ && !takes_prefix(unit_)) {
    const double size = std::max(std::fabs(value) + (up ? 0.5 : -0.5), 1.0);
    return value + way * std::max(1.0, std::pow(10.0, std::floor(std::log10(size)) - 1));
  }
  if (range_.low >= 0 && range_.low < 1e-12 && range_.high <= 1)
    return std::round((value + way * 0.01) * 100) / 100;
  const double next = next_round(value, up);
  return whole_ ? std::max(std::round(next), up ? value + 1 : 0.0) : next;
}

void NumberBox::stepBy(int steps) {
  double value = typed().value_or(0);
  for (int i = 0; i < std::abs(steps); ++i) value = step_from(value, steps > 0);
  set_value(std::clamp(value, range_.low, range_.high));
  selectAll();
  emit edited();
}

QAbstractSpinBox::StepEnabled NumberBox::stepEnabled() const {
  const double value = typed().value_or(0);
  return (value < range_.high ? StepUpEnabled : StepNone) |
         (value > range_.low ? StepDownEnabled : StepNone);
}

QValidator::State NumberBox::validate(QString&, int&) const { return QValidator::Acceptable; }

void NumberBox::wheelEvent(QWheelEvent* event) {
  if (hasFocus()) QAbstractSpinBox::wheelEvent(event);
  else event->ignore();
}

QSize NumberBox::sizeHint() const {
  QSize hint = QAbstractSpinBox::sizeHint();
  hint.setWidth(fontMetrics().horizontalAdvance("0") * 14);
  return hint;
}

}  // namespace trainyard::ui
