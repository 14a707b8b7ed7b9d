// SPDX-License-Identifier: GPL-3.0-or-later
// Texts for a field's help, value and problems. The text of its label is in ui/model.
#pragma once

#include <QString>

#include "core/base/json_fwd.h"
#include "ui/model/document/display_problems.h"

namespace trainyard::ui {

QString readable(const std::string& name);  // "one_device" -> "one device"
QString zero_text(
    const base::FieldDescription& field);  // meaning of the value 0 if it is special; else empty
// Returns the text of a problem and its advice, without the path.
QString problem_line(const base::Problem& problem);
// Returns a value as text. `zero`: the text for the value 0; if it is empty, 0 is shown as a
// number.
QString text_of_value(const base::FieldDescription& field, const base::Json& value,
                      const QString& zero);
QString help_of(const base::FieldDescription& field,
                const QString& zero);  // rich text with help, unit and default

}  // namespace trainyard::ui
