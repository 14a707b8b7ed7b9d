// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/document.h"

#include <algorithm>
#include <iterator>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/validation_result.h"

namespace trainyard::base {

TRAINYARD_FIELD_TEMPLATES(, experiment::Experiment)
TRAINYARD_FIELD_TEMPLATES(, topology::Topology)
TRAINYARD_FIELD_TEMPLATES(, topology::Device)
TRAINYARD_FIELD_TEMPLATES(, model::LayerSpec)
TRAINYARD_FIELD_TEMPLATES(, data::DataSpec)

}  // namespace trainyard::base

namespace trainyard::experiment {
namespace {

using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Problems;

constexpr std::size_t kMaximumBytes = 64u << 20;

bool is_newer(const Json& json) {
  if (!json.is_object()) return false;
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) return false;
  return version->is_number_unsigned() ? version->get<std::uint64_t>() > kVersion
                                       : version->get<std::int64_t>() > kVersion;
}

Problem newer_version(const Json& version) {
  return {ProblemCode::refused, "version",
          "the experiment has version " + version.dump() + "; this software reads version " +
              std::to_string(kVersion),
          std::to_string(kVersion), "Open it with a newer Trainyard."};
}

Problem missing_version() {
  const std::string version = std::to_string(kVersion);
  return {ProblemCode::bad_input, "version", "the version is missing", version,
          "Add \"version\": " + version + "."};
}

// Returns indented text. Names that are not UTF-8 get replacement characters instead of an error.
std::string canonical_text(const Json& json) { return base::to_text(json, 2) + "\n"; }

Problem in_file(const std::filesystem::path& file, Problem problem) {
  problem.where = problem.where.empty() ? file.string() : file.string() + ": " + problem.where;
  return problem;
}

bool is_within(const std::string& place, const std::string& whole) {
  return place.starts_with(whole) &&
         (place.size() == whole.size() || place[whole.size()] == '.' || place[whole.size()] == '[');
}

// True if the problem is at a value that the override set, or at an object that exists only because
// of it. The file contains neither.
bool is_of(const std::string& path_and_value, const std::string& place, const Json& written) {
  const std::string path = path_and_value.substr(0, path_and_value.find('='));
  return is_within(place, path) || (is_within(path, place) && !base::value_at(written, place));
}

Problems in_file(const std::filesystem::path& file, const Json& written,
                 const std::vector<std::string>& overrides, Problems problems) {
  for (Problem& problem : problems) {
    const bool overridden = std::ranges::any_of(
        overrides, [&](const std::string& one) { return is_of(one, problem.where, written); });
    problem = in_file(overridden ? "--set" : file, std::move(problem));
  }
  return problems;
}

// Appends problems of meaning, unless the document is not an object or has an unknown version.
Problems with_those_of_meaning(Problems refused, const Json& written,
                               const std::filesystem::path* directory) {
  const auto is_of_version = [](const Problem& problem) { return problem.where == "version"; };
  if (!written.is_object() || std::any_of(refused.begin(), refused.end(), is_of_version))
    return refused;
  Problems besides = remaining_problems(refused, written, directory);
  std::move(besides.begin(), besides.end(), std::back_inserter(refused));
  return refused;
}

Problem unreadable(Problem problem) {
  problem.code = ProblemCode::bad_input;
  problem.advice = "Name an experiment file, such as one of resources/experiments.";
  return problem;
}

// Problem of a file without content, as created by `touch`, or with only a line end.
Problem empty_file(const std::filesystem::path& file) {
  return {ProblemCode::bad_input, file.string(), "the file is empty", "an experiment, as JSON",
          "Start from a copy of one of resources/experiments, or draw one in the workbench and "
          "save it."};
}

base::Result<Json> read_json(const std::filesystem::path& file) {
  auto text = base::read_file(file, kMaximumBytes);
  if (!text) return base::fail(unreadable(text.error()));
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) return base::fail(empty_file(file));
  return base::parse_json(*text, file.string());
}

// Extracts the document from a resolved.json, which also contains measured values and the data
// summary.
Json document_of(const Json& file) {
  const bool resolved = file.is_object() && !file.contains("version") &&
                        file.contains("document") && file.contains("data");
  return resolved ? file["document"] : file;
}

// Parses the value as JSON if possible, but keeps it as text if the field holds text: name=2024.
Json override_value(const std::string& text, const base::Result<Json>& current) {
  const auto parsed = base::parse_json(text, "");
  const bool wants_text = current && current->is_string();
  return parsed && (!wants_text || parsed->is_string()) ? *parsed : Json(text);
}

// With a null `directory`, checks neither data nor this machine.
Checked<Experiment> load_judged(const std::filesystem::path& file,
                                const std::vector<std::string>& overrides,
                                const std::filesystem::path* directory) {
  auto json = read_json(file).map(document_of);
  if (!json) return tl::unexpected(Problems{json.error()});
  const Json written = *json;
  Problems problems;
  for (const std::string& text : overrides)
    if (auto applied = apply_override(*json, text); !applied) problems.push_back(applied.error());
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return from_json(*json).map_error([&](Problems found) {
    return in_file(file, written, overrides,
                   with_those_of_meaning(std::move(found), *json, directory));
  });
}

// Sets a missing algorithm to auto for strategies that support only one all-reduce.
void complete(Experiment& experiment, const Json& written) {
  if (required_all_reduce(experiment.strategy.kind) &&
      !base::value_at(written, "strategy.algorithm"))
    experiment.strategy.algorithm = collective::Algorithm::automatic;
}

}  // namespace

Json to_json(const Experiment& experiment) { return base::write_document(experiment); }

Checked<Experiment> from_json(const Json& json) {
  if (is_newer(json)) return tl::unexpected(Problems{newer_version(json["version"])});
  Problems problems;
  if (json.is_object() && !json.contains("version")) problems.push_back(missing_version());
  Experiment experiment;
  base::read_document(json, experiment, "", problems);
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  complete(experiment, json);
  return experiment;
}

Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides) {
  return load_judged(file, overrides, nullptr);
}
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides,
                         const std::filesystem::path& directory) {
  return load_judged(file, overrides, &directory);
}

base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file) {
  return base::write_file_atomically(file, canonical_text(to_json(experiment)));
}

base::Result<void> apply_override(Json& document, const std::string& path_and_value) {
  const auto equals = path_and_value.find('=');
  if (equals == std::string::npos || equals == 0)
    return base::fail({ProblemCode::bad_usage, "--set " + path_and_value, "is not an override",
                       "PATH=VALUE", "For example: --set training.batch_per_rank=64"});
  const std::string path = path_and_value.substr(0, equals);
  return base::set_value_at(
      document, path,
      override_value(path_and_value.substr(equals + 1), base::value_at(document, path)));
}

Json schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  schema.update(base::json_schema(base::describe(Experiment{}), base::Fields<Experiment>::title));
  schema["required"] = {"version"};
  return schema;
}

}  // namespace trainyard::experiment
