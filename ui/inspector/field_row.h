// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QToolButton>

#include "ui/inspector/field_form.h"

namespace trainyard::ui {

// One field. A document is a heading and a form of its own, and has no editor.
struct FieldForm::Row {
  QString name;
  base::FieldDescription field;
  base::Json value;
  TintedLabel *label = nullptr, *note = nullptr, *problem = nullptr;
  FieldEditor* editor = nullptr;
  QToolButton* reset = nullptr;
  FieldForm* child = nullptr;
  QString found, refused;  // what is wrong: of the document's value, and of what was typed
  QString zero;            // the text for 0

  std::vector<QWidget*> widgets() const {
    return child ? std::vector<QWidget*>{label, child}
                 : std::vector<QWidget*>{label, editor, reset};
  }
};

}  // namespace trainyard::ui
