// SPDX-License-Identifier: GPL-3.0-or-later
// A field in words: its help, its value, and what is wrong with it; its label is the model's.
#pragma once

#include <QString>

#include "core/base/json_fwd.h"
#include "ui/model/place_words.h"

namespace trainyard::ui {

QString readable(const std::string& name);  // "one_device" -> "one device"
QString zero_text(
    const base::FieldDescription& field);  // what 0 means where it means something else; else empty
QString problem_line(const base::Problem& problem);  // what is wrong and what to do, without where
// `zero`: the text for 0, where it has one.
QString text_of_value(const base::FieldDescription& field, const base::Json& value,
                      const QString& zero);
QString help_of(const base::FieldDescription& field,
                const QString& zero);  // rich text: help, unit, default

}  // namespace trainyard::ui
