// SPDX-License-Identifier: GPL-3.0-or-later
// Text for a field's help, value and problems; its label is in ui/model.
#pragma once

#include <QString>

#include "core/base/json_fwd.h"
#include "ui/model/document/display_problems.h"

namespace trainyard::ui {

QString readable(const std::string& name);  // "one_device" -> "one device"
QString zero_text(
    const base::FieldDescription& field);  // meaning of 0 if it is special; else empty
// the problem and its solution, without its place
QString problem_line(const base::Problem& problem);
// `zero`: the text for 0, if any.
QString text_of_value(const base::FieldDescription& field, const base::Json& value,
                      const QString& zero);
QString help_of(const base::FieldDescription& field,
                const QString& zero);  // rich text: help, unit, default

}  // namespace trainyard::ui
