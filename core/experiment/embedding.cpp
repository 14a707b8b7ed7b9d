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
using model::LayerSpec;

Problem not_looked_up(const Experiment& e, const data::Indices& indices) {
  const std::string kind(base::name_of(e.model.layers.front().kind)),
      count = format_count(indices.slot_count);
  return {ProblemCode::bad_input, "model.layers[0]",
          "is " + kind + ", and would take the indices in the first " + count + " columns of " +
              std::string(base::name_of(e.data.kind)) + " for amounts",
          "embedding_bag",
          "Begin with an embedding_bag of " + count + " slots and " +
              format_count(indices.vocabulary) + " rows, or take other data."};
}

Problem nothing_to_look_up(const Experiment& e, const LayerSpec& layer, const std::string& where) {
  return {ProblemCode::bad_input, where,
          std::string(base::name_of(layer.kind)) + " looks up indices, and " +
              std::string(base::name_of(e.data.kind)) + " has none",
          "data of indices: clicks", "Set data.kind to clicks, or take another layer."};
}

Problem other_slots(std::int64_t slots, const data::Indices& indices, const std::string& where) {
  return {ProblemCode::bad_input, where + ".slots",
          "is " + format_count(slots) + ", and the data have " + format_count(indices.slot_count) +
              " columns of indices",
          format_count(indices.slot_count), "Set it and data.slots to the same."};
}

Problem too_few_rows(std::int64_t rows, const data::Indices& indices, const std::string& where) {
  return {ProblemCode::bad_input, where + ".rows",
          "is " + format_count(rows) + ", fewer than the " + format_count(indices.vocabulary) +
              " indices of the data: some would have no row",
          "at least " + format_count(indices.vocabulary), "Raise it, or lower data.vocabulary."};
}

// Checks a layer that looks up indices.
void judge(const Experiment& e, const LayerSpec& layer, const data::Indices& indices,
           const std::string& where, base::Problems& problems) {
  if (indices.slot_count == 0) return problems.push_back(nothing_to_look_up(e, layer, where));
  if (layer.slot_count != indices.slot_count)
    problems.push_back(other_slots(layer.slot_count, indices, where));
  if (layer.rows < indices.vocabulary) problems.push_back(too_few_rows(layer.rows, indices, where));
}

}  // namespace

base::Problems embedding_problems(const Experiment& experiment) {
  const std::vector<LayerSpec>& layers = experiment.model.layers;
  if (layers.empty()) return {};
  const data::Indices indices = data::indices_of(experiment.data);
  if (indices.slot_count > 0 && layers.front().kind != LayerKind::embedding_bag)
    return {not_looked_up(experiment, indices)};
  base::Problems problems;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (looks_up(layers[i].kind))
      judge(experiment, layers[i], indices, "model.layers[" + std::to_string(i) + "]", problems);
  return problems;
}

}  // namespace trainyard::experiment
