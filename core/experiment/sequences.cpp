// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/sequences.h"

#include <fmt/core.h>

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
  return {"embedding_without_sequences",
          ProblemCode::bad_input,
          "model.layers[0]",
          fmt::format("embedding needs sequences of indices, but {} is not a data set of sequences",
                      named(e.data)),
          "a data set of sequences: grammar, text",
          "Set data.kind to grammar, or begin with another layer."};
}

Problem no_embedding(const Experiment& e) {
  return {"sequences_without_embedding",
          ProblemCode::bad_input,
          "model.layers[0]",
          fmt::format("the first layer is {}, which would use indices of characters as numbers",
                      base::name_of(e.model.layers.front().kind)),
          "embedding",
          "Begin with an embedding, or use other data."};
}

Problem too_few_rows(std::int64_t rows, const data::DataSummary& data) {
  return {"too_few_rows",
          ProblemCode::bad_input,
          "model.layers[0].rows",
          fmt::format("the table has {} rows, but the text has {} distinct characters",
                      format_count(rows), format_count(data.classes)),
          fmt::format("0, or at least {}", format_count(data.classes)),
          "Set rows to 0, which stands for the number of distinct characters."};
}

Problem other_sharding(const Experiment& e) {
  const bool columns = data::owns_columns(e.data.sharding);
  return {"sharding_not_supported",
          ProblemCode::bad_input,
          "data.sharding.kind",
          columns
              ? fmt::format("sharding {} assigns feature columns, but sequences have none",
                            base::name_of(e.data.sharding.kind))
              : fmt::format(
                    "sharding {} assigns samples by class, but a sample of {} has no single class",
                    base::name_of(e.data.sharding.kind), named(e.data)),
          "iid",
          "Set data.sharding.kind to iid."};
}

Problem other_labels(std::int64_t made, const data::DataSummary& data, std::size_t output) {
  return {
      "labels_differ",
      ProblemCode::bad_input,
      fmt::format("model.layers[{}]", output),
      fmt::format("the model predicts {} per sample, but a sample has {}",
                  base::counted(made, "class", "classes"),
                  base::counted(data.labels_of_sample, "label")),
      "one prediction per label",
      "If the data are sequences, begin the model with an embedding and remove flatten layers."};
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
