// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>

#include "core/base/json.h"
#include "ui/inspector/field_form.h"

namespace trainyard::ui {

// Row of one field. The row of a nested document has a heading and a form instead of an editor.
struct FieldForm::Row {
  QString name;
  base::FieldDescription field;
  base::Json value;
  TintedLabel *label = nullptr, *note = nullptr, *problem = nullptr;
  FieldEditor* editor = nullptr;
  QToolButton* reset = nullptr;
  FieldForm* child = nullptr;
  QString found, refused;  // problems of the document's value, and of refused input
  QString zero;            // text shown for the value 0

  std::vector<QWidget*> widgets() const {
    return child ? std::vector<QWidget*>{label, child}
                 : std::vector<QWidget*>{label, editor, reset};
  }
};

}  // namespace trainyard::ui
