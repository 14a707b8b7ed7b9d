// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/experiment/compression.h"
#include "core/experiment/document.h"
#include "core/experiment/embedding.h"
#include "core/experiment/fields.h"
#include "core/experiment/fsdp.h"
#include "core/experiment/mesh.h"
#include "core/experiment/multiplies.h"
#include "core/experiment/notes.h"
#include "core/experiment/placement.h"
#include "core/experiment/precision.h"
#include "core/experiment/rank_duties.h"
#include "core/experiment/roles.h"
#include "core/experiment/sequences.h"
#include "core/experiment/servers.h"
#include "core/experiment/stages.h"
#include "core/experiment/swap.h"
#include "core/experiment/sync_batch_norm.h"
#include "core/experiment/tensor.h"
#include "core/experiment/tpu.h"
#include "core/experiment/validation_result.h"
#include "core/experiment/vertical.h"
#include "core/model/model.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Problems;

// Appends the problems in `more` to `problems`, but at most one for each field.
void append(Problems& problems, Problems more) {
  std::set<std::string> judged;
  for (const Problem& known : problems) judged.insert(known.where);
  for (Problem& problem : more)
    if (judged.insert(problem.where).second) problems.push_back(std::move(problem));
}

// Checks the values against the field tables. An experiment built in code or in a form may hold
// values that could not be read from a file.
Problems form_problems(const Experiment& experiment) {
  auto read = from_json(to_json(experiment));
  return read ? Problems{} : std::move(read.error());
}

// Returns " on each of 4 ranks", or " on each of 2 replicas" if the model is split; empty for one
// consumer of samples.
std::string on_each_rank_text(const Experiment& e, std::int64_t consumers) {
  if (consumers == 1) return "";
  const bool are_replicas = splits_model(e.strategy.kind) && e.strategy.kind != StrategyKind::rpc;
  return fmt::format(" on each of {}", base::counted(consumers, are_replicas ? "replica" : "rank"));
}

std::string exceeds_samples_text(std::int64_t samples) {
  return fmt::format(" exceed the {}", base::counted(samples, "training sample"));
}

// Checks the number of micro-steps. The data must have enough samples for one micro-step.
Problems accumulation_problems(const Experiment& e, std::int64_t consumers, std::int64_t samples) {
  const TrainingSpec& training = e.training;
  const std::int64_t most = samples / consumers / training.batch_per_rank;
  if (training.accumulation_steps <= most) return {};
  return {
      {"batch_exceeds_data", ProblemCode::bad_input, "training.accumulation_steps",
       fmt::format("{} micro-steps of {} samples{}{}", format_count(training.accumulation_steps),
                   format_count(training.batch_per_rank), on_each_rank_text(e, consumers),
                   exceeds_samples_text(samples)),
       fmt::format("1 to {}", format_count(most)),
       "Lower training.accumulation_steps or training.batch_per_rank, or use more samples."}};
}

Problems batch_problems(const Experiment& e, std::int64_t consumers, std::int64_t samples) {
  const std::int64_t batch_per_rank = e.training.batch_per_rank;
  if (consumers < 1 || batch_per_rank < 1) return {};
  if (samples < consumers)
    return {{"too_few_samples", ProblemCode::bad_input, "data.train_samples",
             fmt::format("{} cannot be divided among {}", base::counted(samples, "training sample"),
                         base::counted(consumers, "rank")),
             fmt::format("at least {}", format_count(consumers)),
             "Use more samples, or fewer workers."}};
  if (batch_per_rank <= samples / consumers) return accumulation_problems(e, consumers, samples);
  return {{"batch_exceeds_data", ProblemCode::bad_input, "training.batch_per_rank",
           fmt::format("{} samples{}{}", format_count(batch_per_rank),
                       on_each_rank_text(e, consumers), exceeds_samples_text(samples)),
           fmt::format("1 to {}", format_count(samples / consumers)),
           "Lower training.batch_per_rank, or use more samples."}};
}

Problems average_problems(const Experiment& experiment) {
  const StrategySpec& strategy = experiment.strategy;
  if (strategy.average == AveragedQuantity::gradients) return {};
  if (strategy.kind == StrategyKind::mirrored && experiment.training.non_finite != NonFinite::skip)
    return {};
  if (strategy.kind == StrategyKind::mirrored)
    return {{"no_global_gradient", ProblemCode::bad_input, "training.non_finite",
             "non_finite=skip needs the gradient of all ranks, but if weights are averaged there "
             "is no such gradient",
             "go_on, stop", "Set training.non_finite to stop, or strategy.average to gradients."}};
  return {{"average_not_supported", ProblemCode::bad_input, "strategy.average",
           fmt::format("{} does not average weights", base::name_of(strategy.kind)), "gradients",
           "Set strategy.kind to mirrored, or strategy.average to gradients."}};
}

Problems accumulation_problems(const Experiment& experiment) {
  if (experiment.training.accumulation_steps == 1 ||
      experiment.strategy.kind != StrategyKind::data_parallel)
    return {};
  return {{"accumulation_not_supported", ProblemCode::bad_input, "training.accumulation_steps",
           "data_parallel scatters the full batch of a step at once, so it has no micro-steps", "1",
           "Set training.accumulation_steps to 1, or strategy.kind to ddp."}};
}

// Maximum number of samples for which all labels are always read, because that is fast. For more
// samples, labels are read only if they determine which rank owns which samples.
constexpr std::int64_t kCountedAtMost = 2'000'000;

// Summarizes the data set. Reads its labels only if they are needed.
base::Result<data::Survey> looked_at(const data::DataSpec& spec,
                                     const std::filesystem::path& directory) {
  const bool reads_labels = spec.kind == data::DataKind::csv || spec.kind == data::DataKind::text;
  if (data::owns_samples(spec.sharding) || spec.train_samples <= kCountedAtMost || reads_labels)
    return data::survey(spec, directory);
  return data::inspect(spec, directory).map([](const data::DataSummary& summary) {
    return data::Survey{summary, {}};
  });
}

bool is_at(const Problem& problem, std::initializer_list<const char*> places) {
  return std::ranges::any_of(places,
                             [&](const char* place) { return problem.where.starts_with(place); });
}

// True if the samples of each rank can be counted, that is, if there is no problem in data,
// topology or training.
bool can_be_sharded(const Problems& problems) {
  return std::ranges::none_of(problems, [](const Problem& problem) {
    return is_at(problem, {"data", "topology", "training"});
  });
}

// Returns problems of assigning the layers and variables of the model to devices. Returns none if
// model or drawing is invalid, or if numbers are out of range. Does not check stages if the mesh
// does not cover the workers.
Problems problems_of_layers(const Experiment& experiment, const data::DataSummary& data,
                            const Problems& known) {
  const auto is_of_no_model = [](const Problem& problem) {
    return problem.where == "strategy.kind" || is_at(problem, {"model", "topology"});
  };
  const auto is_out_of_range = [](const Problem& problem) {
    return is_at(problem, {"strategy.stages", "strategy.mesh", "training.accumulation_steps"});
  };
  if (std::ranges::any_of(known, is_of_no_model) ||
      std::ranges::any_of(form_problems(experiment), is_out_of_range))
    return {};
  const auto model = model::build(experiment.model, sample_shape(data), data.classes);
  if (!model) return {};
  Problems problems = place_problems(experiment, *model);
  if (std::ranges::count(known, "strategy.mesh", &Problem::where) == 0)
    append(problems, stage_problems(experiment, *model));
  append(problems, tensor_problems(experiment, *model));
  return problems;
}

// Counts samples by class, only for ranks that take samples.
data::ShardTable count_among_trainers(const Experiment& experiment, const data::Survey& survey) {
  if (data::owns_columns(experiment.data.sharding) && count_trainers(experiment) > 1)
    return {};                                            // Every rank has a part of every sample.
  if (splits_model(experiment.strategy.kind)) return {};  // Every sample passes all ranks.
  if (survey.summary.sequences()) return {};              // A sequence has no single class.
  const std::int64_t classes = survey.summary.classes, ranks = count_trainers(experiment);
  if (has_servers(experiment.strategy.kind) && !is_lockstep(experiment.strategy.servers))
    return {};  // Samples are not assigned in advance.
  if (data::owns_samples(experiment.data.sharding))
    return data::count_shards(experiment.data.sharding, survey.labels, classes, ranks);
  if (survey.summary.train_samples > kCountedAtMost) return {};
  return data::count_first_epoch(experiment.training.seed, experiment.training.samples_per_rank(),
                                 survey.labels, classes, ranks);
}

data::ShardTable count_shards(const Experiment& experiment, const data::Survey& survey) {
  data::ShardTable table = count_among_trainers(experiment, survey);
  const int storage = storage_rank(experiment);
  if (storage != kNoRank && !table.empty())
    table.insert(table.begin() + storage, std::vector<std::int64_t>(table.front().size()));
  return table;
}

std::string ranks_text(const std::vector<std::size_t>& ranks) {
  const std::string first = fmt::format("rank {}", ranks.front());
  return ranks.size() == 1
             ? first
             : fmt::format("{} and {}", first, base::counted(std::ssize(ranks) - 1, "other"));
}

}  // namespace

Problems shard_problems(const Experiment& experiment, const data::ShardTable& shards) {
  const data::ShardingSpec& sharding = experiment.data.sharding;
  const auto sizes = data::samples_by_rank(shards);
  std::vector<std::size_t> without;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    if (sizes[rank] == 0 && static_cast<int>(rank) != storage_rank(experiment))
      without.push_back(rank);
  if (without.empty() || !data::owns_samples(sharding)) return {};
  const bool by_label = sharding.kind == data::ShardingKind::label_skew;
  return {{"rank_without_samples", ProblemCode::bad_input,
           by_label ? "data.sharding.alpha" : "data.sharding.size_ratio",
           fmt::format("{} would own no samples", ranks_text(without)),
           "shards of at least 1 sample",
           by_label ? "Raise data.sharding.alpha, change the seed, or use fewer workers."
                    : "Lower data.sharding.size_ratio, or use more samples or fewer workers."}};
}

model::Shape sample_shape(const data::DataSummary& data) {
  if (const auto image = data.image()) return {image->height, image->width, image->channels};
  return {data.features()};
}

Problems semantic_problems(const Experiment& experiment, const data::DataSummary* data) {
  Problems problems = form_problems(experiment);
  if (base::has_control_characters(experiment.name))
    problems.push_back({"control_character", ProblemCode::bad_input, "name",
                        "the name contains a control character", "printable characters",
                        "Remove the control character."});
  append(problems, placement_problems(experiment));
  append(problems, role_problems(experiment, data));
  append(problems, torus_problems(experiment.strategy));
  append(problems, multiplies_problems(experiment));
  append(problems, precision_problems(experiment));
  append(problems, average_problems(experiment));
  append(problems, accumulation_problems(experiment));
  append(problems, checkpoint_problems(experiment));
  append(problems, compression_problems(experiment));
  append(problems, sync_batch_norm_problems(experiment));
  append(problems, mesh_problems(experiment));
  append(problems, split_problems(experiment));
  append(problems, fsdp_problems(experiment));
  append(problems, offload_problems(experiment));
  append(problems, vertical_problems(experiment, data));
  if (data != nullptr) append(problems, embedding_problems(experiment));
  if (data != nullptr) append(problems, sequence_problems(experiment, *data));
  append(problems,
         model::validate(experiment.model, data != nullptr ? sample_shape(*data) : model::Shape{},
                         data != nullptr ? data->classes : 0, "model"));
  if (data != nullptr)
    append(problems, batch_problems(experiment, ranks_of_step(experiment), data->train_samples));
  return problems;
}

Findings examine(const Experiment& experiment, const std::filesystem::path& directory,
                 bool data_as_written) {
  const auto data = looked_at(experiment.data, directory);
  Findings findings{
      semantic_problems(experiment, data && data_as_written ? &data->summary : nullptr), {}, {}};
  if (data && data_as_written && can_be_sharded(findings.problems)) {
    findings.shards = count_shards(experiment, *data);
    append(findings.problems, shard_problems(experiment, findings.shards));
  }
  if (data && data_as_written)
    append(findings.problems, problems_of_layers(experiment, data->summary, findings.problems));
  append(findings.problems, start_problems(experiment));
  append(findings.problems, offload_directory_problems(experiment));
  if (data) {
    findings.data = data->summary;
    for (const std::string& note : data->notes)
      findings.notes.push_back(
          {experiment.data.kind == data::DataKind::idx ? "data.labels" : "data.file", note});
  }
  if (!data) append(findings.problems, {data::at_field(data.error(), experiment.data, directory)});
  return findings;
}

Problems validate(const Experiment& experiment, const std::filesystem::path& directory) {
  return examine(experiment, directory).problems;
}

Assessment assess(const Experiment& experiment, const std::filesystem::path& directory) {
  Findings findings = examine(experiment, directory);
  if (!findings.problems.empty()) return {std::move(findings.problems), std::move(findings.notes)};
  auto resolved = resolve(experiment, directory, std::move(findings));
  return resolved ? Assessment{{}, all_notes(*resolved)} : Assessment{{resolved.error()}, {}};
}

}  // namespace trainyard::experiment
