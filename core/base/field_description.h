// SPDX-License-Identifier: GPL-3.0-or-later
// Description of a field without its C++ types: name, kind, unit, range, help and default value.
// Forms, the JSON Schema and the manual are made from it.
#pragma once

#include <string>
#include <vector>

#include "core/base/field_table.h"
#include "core/base/json.h"

namespace trainyard::base {

enum class FieldKind { boolean, integer, number, text, choice, document, list };
struct FieldDescription {
  std::string name;
  FieldKind kind = FieldKind::text;
  std::string unit;
  Range range;
  std::string help;
  Json default_value;
  std::vector<std::string> choices;  // FieldKind::choice
  // Fields of a document, or of a list's elements if these are documents.
  std::vector<FieldDescription> fields;
  FieldKind element = FieldKind::document;  // FieldKind::list
  std::vector<std::string> kinds = {};      // kinds of the document that have it; empty: all
  bool used = true;                         // for the values of the document given to `describe`
};

}  // namespace trainyard::base
