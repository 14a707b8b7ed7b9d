// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>

#include "core/base/units.h"
#include "core/experiment/document.h"
#include "core/experiment/findings.h"
#include "core/experiment/placement.h"
#include "core/model/model.h"

namespace trainyard::experiment {
namespace {

using base::format_count;
using base::Problem;
using base::ProblemCode;
using base::Problems;

// Of two judgements of one field the first is enough.
void append(Problems& problems, Problems more) {
  for (Problem& problem : more)
    if (std::none_of(problems.begin(), problems.end(), [&](const Problem& known) { return known.where == problem.where; }))
      problems.push_back(std::move(problem));
}

// An experiment that was built in code or in a form may hold what no file could: the field tables judge it too.
Problems form_problems(const Experiment& experiment) {
  auto read = from_json(to_json(experiment));
  return read ? Problems{} : std::move(read.error());
}

Problems batch_problems(std::int64_t batch_per_rank, std::int64_t ranks, std::int64_t samples) {
  if (ranks < 1) return {};
  if (samples < ranks)
    return {{ProblemCode::bad_input, "data.train_samples",
             "there are " + format_count(samples) + " training samples for " + format_count(ranks) + " ranks: a global batch smaller than the ranks",
             "at least " + format_count(ranks), "Take more samples, or fewer workers."}};
  if (batch_per_rank <= samples / ranks) return {};
  return {
      {ProblemCode::bad_input, "training.batch_per_rank",
       format_count(batch_per_rank) + " samples on each of " + format_count(ranks) + " ranks are more than the " + format_count(samples) + " training samples",
       "1 to " + format_count(samples / ranks), "Lower it, or take more samples."}};
}

bool starts_with_path(const std::string& where, const std::filesystem::path& directory, const std::string& name) {
  return !name.empty() && where.starts_with((directory / name).lexically_normal().string());
}

// A problem of a file belongs to the field that names the file.
Problem at_field(Problem problem, const data::DataSpec& spec, const std::filesystem::path& directory) {
  if (problem.where == "data" || problem.where.starts_with("data.")) return problem;
  std::string field = "data.file";
  if (spec.kind == data::DataKind::idx) field = starts_with_path(problem.where, directory, spec.labels) ? "data.labels" : "data.images";
  problem.what = problem.where + ": " + problem.what;
  problem.where = field;
  return problem;
}

}  // namespace

Problems problems_of_meaning(const Experiment& experiment, const data::DataSummary* data) {
  Problems problems = form_problems(experiment);
  append(problems, placement_problems(experiment));
  append(problems, model::validate(experiment.model, data != nullptr ? data->classes : 0, "model"));
  if (data != nullptr) append(problems, batch_problems(experiment.training.batch_per_rank, count_workers(experiment.topology), data->train_samples));
  return problems;
}

Findings examine(const Experiment& experiment, const std::filesystem::path& directory, bool data_as_written) {
  const auto data = data::inspect(experiment.data, directory);
  Findings findings{problems_of_meaning(experiment, data && data_as_written ? &*data : nullptr), {}};
  append(findings.problems, start_problems(experiment));
  if (data) findings.data = *data;
  else append(findings.problems, {at_field(data.error(), experiment.data, directory)});
  return findings;
}

Problems validate(const Experiment& experiment, const std::filesystem::path& directory) { return examine(experiment, directory).problems; }

}  // namespace trainyard::experiment
