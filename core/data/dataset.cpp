// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/dataset.h"

#include <fmt/core.h>

#include "core/data/clicks.h"
#include "core/data/csv.h"
#include "core/data/generated.h"
#include "core/data/idx.h"
#include "core/data/text.h"

namespace trainyard::data {
namespace {

using base::fail;
using base::Problem;
using base::ProblemCode;

std::vector<std::int64_t> shape_of(const DataSpec& spec) {
  switch (spec.kind) {
    case DataKind::digits: return {28, 28};
    case DataKind::blobs: return {spec.features};
    case DataKind::clicks: return {spec.slot_count + spec.dense};
    case DataKind::grammar: return {spec.context};
    default: return {2};
  }
}

std::int64_t classes_of(const DataSpec& spec) {
  switch (spec.kind) {
    case DataKind::digits: return 10;
    case DataKind::clicks: return 2;  // The classes are "no click" and "click".
    case DataKind::grammar: return std::ssize(grammar_alphabet());
    default: return spec.classes;
  }
}

base::Result<void> require(std::int64_t value, std::int64_t least, const char* field) {
  if (value >= least) return {};
  return fail({"out_of_range", ProblemCode::bad_input, fmt::format("data.{}", field),
               fmt::format("the value is {}", value), fmt::format("at least {}", least),
               "Choose a larger value."});
}

// Refuses a vocabulary that is too large for a float to represent every index exactly.
base::Result<void> check_vocabulary(const DataSpec& spec) {
  if (spec.vocabulary <= kMaxIndices)
    return require(spec.vocabulary, spec.slot_count, "vocabulary");
  return fail({"out_of_range", ProblemCode::bad_input, "data.vocabulary",
               fmt::format("the vocabulary has {} indices, but indices are exact only below 2^24",
                           spec.vocabulary),
               fmt::format("{} to {}", spec.slot_count, kMaxIndices),
               "Choose a smaller vocabulary."});
}

base::Result<void> check_clicks(const DataSpec& spec) {
  return require(spec.slot_count, 1, "slots")
      .and_then([&] { return require(spec.dense, 0, "dense"); })
      .and_then([&] { return check_vocabulary(spec); });
}

// Checks for values that make a generated set empty or impossible. The table of fields already
// limits what users can set; this check is for other callers.
base::Result<void> check_generated(const DataSpec& spec) {
  const bool classes = spec.kind == DataKind::spirals || spec.kind == DataKind::blobs,
             features = spec.kind == DataKind::blobs;
  return require(spec.train_samples, 1, "train_samples")
      .and_then([&] { return require(spec.held_out_samples, 0, "held_out_samples"); })
      .and_then([&] { return require(classes ? spec.classes : 2, 2, "classes"); })
      .and_then([&] { return require(features ? spec.features : 1, 1, "features"); })
      .and_then(
          [&] { return require(spec.kind == DataKind::grammar ? spec.context : 2, 2, "context"); })
      .and_then([&] {
        return spec.kind == DataKind::clicks ? check_clicks(spec) : base::Result<void>{};
      });
}

std::shared_ptr<const Dataset> make_generated(const DataSpec& spec) {
  switch (spec.kind) {
    case DataKind::spirals: return make_spirals(spec);
    case DataKind::blobs: return make_blobs(spec);
    case DataKind::clicks: return make_clicks(spec);
    case DataKind::grammar: return make_grammar(spec);
    default: return make_digits(spec);
  }
}

Survey survey_generated(const DataSpec& spec) {
  Survey survey{summarize_generated(spec), {}};
  if (spec.kind == DataKind::clicks) return survey.labels.classes = click_labels(spec), survey;
  if (survey.summary.sequences()) return survey;
  for (std::int64_t i = 0; i < spec.train_samples; ++i)
    survey.labels.classes.push_back(static_cast<std::int32_t>(i % survey.summary.classes));
  return survey;
}

bool starts_with_path(const std::string& where, const std::filesystem::path& directory,
                      const std::string& name) {
  const std::string path = (directory / name).lexically_normal().string();
  // a line number such as ", line 3" may follow the path in `where`
  return !name.empty() && where.starts_with(path) &&
         (where.size() == path.size() || where[path.size()] == ',');
}

}  // namespace

std::int64_t DataSummary::features() const {
  std::int64_t product = 1;
  for (const std::int64_t extent : sample_shape) product *= extent;
  return product;
}

std::optional<ImageShape> DataSummary::image() const {
  const bool deep = sample_shape.size() == 3;
  if (sample_shape.size() != 2 && !deep) return std::nullopt;
  return ImageShape{deep ? sample_shape[2] : 1, sample_shape[0], sample_shape[1]};
}

DataSummary summarize_generated(const DataSpec& spec) {
  return {shape_of(spec), classes_of(spec), spec.train_samples, spec.held_out_samples,
          spec.kind == DataKind::grammar ? spec.context : 1};
}

Indices indices_of(const DataSpec& spec) {
  return spec.kind == DataKind::clicks ? Indices{spec.slot_count, spec.vocabulary} : Indices{};
}

base::Result<DataSummary> inspect(const DataSpec& spec, const std::filesystem::path& directory) {
  if (spec.kind == DataKind::idx) return inspect_idx(spec, directory);
  if (spec.kind == DataKind::csv)
    return open_csv(spec, directory).map([](const auto& set) { return set->summary(); });
  if (spec.kind == DataKind::text)
    return open_text(spec, directory).map([](const auto& set) { return set->summary(); });
  return check_generated(spec).map([&] { return summarize_generated(spec); });
}

base::Result<Survey> survey(const DataSpec& spec, const std::filesystem::path& directory) {
  if (spec.kind == DataKind::idx) return survey_idx(spec, directory);
  if (spec.kind == DataKind::csv)
    return open_csv(spec, directory).map([](const auto& set) {
      return Survey{set->summary(), set->training_labels(), set->notes()};
    });
  if (spec.kind == DataKind::text)
    return open_text(spec, directory).map([](const auto& set) {
      return Survey{set->summary(), {}};
    });
  return check_generated(spec).map([&] { return survey_generated(spec); });
}

base::Result<std::shared_ptr<const Dataset>> open(const DataSpec& spec,
                                                  const std::filesystem::path& directory) {
  if (spec.kind == DataKind::idx) return open_idx(spec, directory);
  if (spec.kind == DataKind::csv) return open_csv(spec, directory);
  if (spec.kind == DataKind::text) return open_text(spec, directory);
  return check_generated(spec).map([&] { return make_generated(spec); });
}

Problem at_field(Problem problem, const DataSpec& spec, const std::filesystem::path& directory) {
  if (problem.where == "data" || problem.where.starts_with("data.")) return problem;
  std::string field = "data.file";
  if (spec.kind == DataKind::idx)
    field = spec.labels != spec.images && starts_with_path(problem.where, directory, spec.labels)
                ? "data.labels"
                : "data.images";
  problem.what = fmt::format("{}: {}", problem.where, problem.what);
  problem.where = field;
  return problem;
}

}  // namespace trainyard::data
