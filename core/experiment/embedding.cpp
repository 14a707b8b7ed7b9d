// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/embedding.h"

#include <fmt/core.h>

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
  return {"indices_without_table",
          ProblemCode::bad_input,
          "model.layers[0]",
          fmt::format("the first layer is {}, which would use the indices in the first {} columns "
                      "of {} as numbers",
                      kind, count, base::name_of(e.data.kind)),
          "embedding_bag",
          fmt::format("Begin with an embedding_bag with {} slots and {} rows, or use other data.",
                      count, format_count(indices.vocabulary))};
}

Problem nothing_to_look_up(const Experiment& e, const LayerSpec& layer, const std::string& where) {
  return {"table_without_indices",
          ProblemCode::bad_input,
          where,
          fmt::format("{} looks up indices, but the data set {} has none",
                      base::name_of(layer.kind), base::name_of(e.data.kind)),
          "a data set with indices: clicks",
          "Set data.kind to clicks, or use another layer."};
}

Problem other_slots(std::int64_t slots, const data::Indices& indices, const std::string& where) {
  return {"slots_differ",
          ProblemCode::bad_input,
          where + ".slots",
          fmt::format("the layer has {} slots, but the data have {} columns of indices",
                      format_count(slots), format_count(indices.slot_count)),
          format_count(indices.slot_count),
          "Set the layer's slots and data.slots to the same value."};
}

Problem too_few_rows(std::int64_t rows, const data::Indices& indices, const std::string& where) {
  return {"too_few_rows",
          ProblemCode::bad_input,
          where + ".rows",
          fmt::format("the table has {} rows, but the data have {} indices", format_count(rows),
                      format_count(indices.vocabulary)),
          fmt::format("at least {}", format_count(indices.vocabulary)),
          "Raise the layer's rows, or lower data.vocabulary."};
}

// Checks a lookup layer.
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
