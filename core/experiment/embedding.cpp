// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/embedding.h"

#include "core/base/units.h"
#include "core/experiment/fields.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using model::LayerKind;

const std::string kFirst = "model.layers[0]";

Problem not_looked_up(const Experiment& e, const data::Indices& indices) {
  const std::string kind(base::name_of(e.model.layers.front().kind)), count = format_count(indices.slot_count);
  return {ProblemCode::bad_input, kFirst,
          "is " + kind + ", and would take the indices in the first " + count + " columns of " + std::string(base::name_of(e.data.kind)) + " for amounts",
          "embedding_bag", "Begin with an embedding_bag of " + count + " slots and " + format_count(indices.vocabulary) + " rows, or take other data."};
}

Problem nothing_to_look_up(const Experiment& e) {
  return {ProblemCode::bad_input, kFirst, "embedding_bag looks up indices, and " + std::string(base::name_of(e.data.kind)) + " has none",
          "data of indices: clicks", "Set data.kind to clicks, or begin with another layer."};
}

Problem other_slots(std::int64_t slots, const data::Indices& indices) {
  return {ProblemCode::bad_input, kFirst + ".slots",
          "is " + format_count(slots) + ", and the data have " + format_count(indices.slot_count) + " columns of indices", format_count(indices.slot_count),
          "Set it and data.slots to the same."};
}

Problem too_few_rows(std::int64_t rows, const data::Indices& indices) {
  return {ProblemCode::bad_input, kFirst + ".rows",
          "is " + format_count(rows) + ", fewer than the " + format_count(indices.vocabulary) + " indices of the data: some would have no row",
          "at least " + format_count(indices.vocabulary), "Raise it, or lower data.vocabulary."};
}

}  // namespace

base::Problems embedding_problems(const Experiment& experiment) {
  if (experiment.model.layers.empty()) return {};
  const model::LayerSpec& first = experiment.model.layers.front();
  const data::Indices indices = data::indices_of(experiment.data);
  const bool looks_up = first.kind == LayerKind::embedding_bag;
  if (indices.slot_count == 0) return looks_up ? base::Problems{nothing_to_look_up(experiment)} : base::Problems{};
  if (!looks_up) return {not_looked_up(experiment, indices)};
  base::Problems problems;
  if (first.slot_count != indices.slot_count) problems.push_back(other_slots(first.slot_count, indices));
  if (first.rows < indices.vocabulary) problems.push_back(too_few_rows(first.rows, indices));
  return problems;
}

}  // namespace trainyard::experiment
