// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/canonical_form.h"

#include "core/base/fields.h"
#include "core/experiment/fields.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

template <base::IsDocument Document>
void reset_unused(Document& document);

template <class Value>
void forget_inside(Value& value) {
  if constexpr (base::IsDocument<Value>) reset_unused(value);
  if constexpr (base::IsVector<Value>::value)
    for (auto& element : value) forget_inside(element);
}

// Resets unused fields to defaults, as the field tables define.
template <base::IsDocument Document>
void reset_unused(Document& document) {
  const Document given = document, defaults{};
  const auto forget = [&](const auto& field) {
    if (field.used && !field.used(given)) document.*(field.member) = defaults.*(field.member);
    else forget_inside(document.*(field.member));
  };
  std::apply([&](const auto&... fields) { (forget(fields), ...); },
             base::Fields<Document>::table());
}

}  // namespace

experiment::Experiment essence(experiment::Experiment experiment) {
  experiment.name.clear();
  experiment.notes.clear();
  experiment.topology = without_positions(std::move(experiment.topology));
  reset_unused(experiment);
  return experiment;
}

}  // namespace trainyard::ui
