// SPDX-License-Identifier: GPL-3.0-or-later
// Description of a field without its C++ types: name, kind, unit, range, help and default value.
// Forms, the JSON Schema and the manual are made from it.
#pragma once

#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/json_fwd.h"

namespace trainyard::base {

enum class FieldKind { boolean, integer, number, text, choice, document, list };
struct FieldDescription {
  std::string name;
  FieldKind kind = FieldKind::text;
  std::string unit;
  Range range;
  std::string help;
  SharedJson default_value;
  std::vector<std::string> choices;  // accepted values of a FieldKind::choice
  // Fields of a nested document, or of the elements of a list of documents.
  std::vector<FieldDescription> fields;
  FieldKind element = FieldKind::document;  // kind of the elements of a FieldKind::list
  // kinds of the document that have this field; empty: all kinds
  std::vector<std::string> kinds = {};
  // true if the field has an effect, given the other values of the document passed to `describe`
  bool used = true;
};

}  // namespace trainyard::base
