// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/canonical_form.h"

#include "core/experiment/fields.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

// Resets to their defaults the fields that their descriptions mark as unused.
template <base::IsDocument Document>
void reset_unused(Document& document) {
  const Document given = document, defaults{};
  base::for_each_field<Document>([&](const auto& field) {
    auto& value = document.*(field.member);
    if (field.used && !field.used(given)) value = defaults.*(field.member);
    else base::for_each_document(value, "", [](auto& part, const auto&) { reset_unused(part); });
  });
}

}  // namespace

experiment::Experiment canonical_form(experiment::Experiment experiment) {
  experiment.name.clear();
  experiment.notes.clear();
  experiment.topology = without_positions(std::move(experiment.topology));
  reset_unused(experiment);
  return experiment;
}

}  // namespace trainyard::ui
