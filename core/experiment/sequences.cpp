// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sequences.h"

#include "core/base/units.h"
#include "core/experiment/fields.h"
#include "core/experiment/validation_result.h"
#include "core/model/model.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using model::LayerKind;
using model::LayerSpec;

std::string named(const data::DataSpec& spec) { return std::string(base::name_of(spec.kind)); }

Problem no_sequences(const Experiment& e) {
  return {
      ProblemCode::bad_input, "model.layers[0]",
      "embedding takes sequences of numbers of a vocabulary, and " + named(e.data) + " has none",
      "data that are sequences: grammar, text",
      "Set data.kind to grammar, or begin with another layer."};
}

Problem no_embedding(const Experiment& e) {
  return {ProblemCode::bad_input, "model.layers[0]",
          "is " + std::string(base::name_of(e.model.layers.front().kind)) +
              ", and would take the numbers of characters for amounts",
          "embedding", "Begin with an embedding, or take other data."};
}

Problem too_few_rows(std::int64_t rows, const data::DataSummary& data) {
  return {ProblemCode::bad_input, "model.layers[0].rows",
          "is " + format_count(rows) + ", and the text has " + format_count(data.classes) +
              " different characters: some would have no row",
          "0, or at least " + format_count(data.classes), "Set it to 0: as many as the text has."};
}

Problem other_sharding(const Experiment& e) {
  const bool columns = data::owns_columns(e.data.sharding);
  return {
      ProblemCode::bad_input, "data.sharding.kind",
      std::string(base::name_of(e.data.sharding.kind)) +
          (columns ? " shares out columns, and a sequence has none"
                   : " goes by classes, and a sample of " + named(e.data) + " has no one class"),
      "iid", "Set it to iid."};
}

Problem other_labels(std::int64_t made, const data::DataSummary& data, std::size_t output) {
  return {ProblemCode::bad_input, "model.layers[" + std::to_string(output) + "]",
          "foretells " + format_count(made) + (made == 1 ? " class" : " classes") +
              " of a sample, and one of these data has " + format_count(data.labels_of_sample) +
              (data.labels_of_sample == 1 ? " label" : " labels"),
          "a row of the sequence for each label",
          "Take no flatten out of a sequence, and an embedding for data that are one."};
}

}  // namespace

base::Problems sequence_problems(const Experiment& experiment, const data::DataSummary& data) {
  if (experiment.model.layers.empty()) return {};
  const LayerSpec& first = experiment.model.layers.front();
  const bool embeds = first.kind == LayerKind::embedding;
  if (embeds && !data.sequences()) return {no_sequences(experiment)};
  if (!embeds && data.sequences()) return {no_embedding(experiment)};
  base::Problems problems;
  if (embeds && first.rows != 0 && first.rows < data.classes)
    problems.push_back(too_few_rows(first.rows, data));
  if (embeds && experiment.data.sharding.kind != data::ShardingKind::iid)
    problems.push_back(other_sharding(experiment));
  if (const auto model = model::build(experiment.model, sample_shape(data), data.classes);
      model && model->labels() != data.labels_of_sample)
    problems.push_back(other_labels(model->labels(), data, experiment.model.output_layer()));
  return problems;
}

}  // namespace trainyard::experiment
