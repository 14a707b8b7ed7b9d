// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "core/base/content.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/sparse_document.h"
#include "core/experiment/device_groups.h"
#include "core/experiment/field_templates.h"
#include "core/experiment/validation_result.h"
#include "core/experiment/versions.h"

namespace trainyard::base {

TRAINYARD_FIELD_TEMPLATES(, experiment::Experiment)
TRAINYARD_FIELD_TEMPLATES(, topology::Topology)
TRAINYARD_FIELD_TEMPLATES(, topology::Device)
TRAINYARD_FIELD_TEMPLATES(, model::LayerSpec)
TRAINYARD_FIELD_TEMPLATES(, data::DataSpec)

}  // namespace trainyard::base

namespace trainyard::experiment {
namespace {

constexpr const char* kNotAnOverride = "not_an_override";

using base::Json;
using base::Problem;
using base::ProblemCode;
using base::Problems;

constexpr std::size_t kMaxBytes = 64u << 20;

Problem newer_version(const Json& version) {
  return {"newer_version",
          ProblemCode::refused,
          "version",
          fmt::format("the experiment has version {}; this software reads versions up to {}",
                      version.dump(), kVersion),
          fmt::format("1 to {}", kVersion),
          "Open the file with a newer version of Trainyard."};
}

Problem missing_version() {
  const std::string version = std::to_string(kVersion);
  return {"missing_version",
          ProblemCode::bad_input,
          "version",
          "the version is missing",
          fmt::format("1 to {}", kVersion),
          fmt::format("Add \"version\": {}.", kVersion)};
}

Problem in_file(const std::filesystem::path& file, Problem problem) {
  problem.where = problem.where.empty() ? file.string() : file.string() + ": " + problem.where;
  return problem;
}

bool is_within(const std::string& place, const std::string& whole) {
  return place.starts_with(whole) &&
         (place.size() == whole.size() || place[whole.size()] == '.' || place[whole.size()] == '[');
}

// True if the problem at `place` was caused by the override `path_and_value`: the override set this
// value, or created the object that contains it. In both cases the file does not contain the value.
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

// Appends semantic problems to the problems of rejected fields. Checks only fields whose values
// could be read. Appends none if the document is not an object or its version is unknown.
Problems add_semantic_problems(Problems refused, const Json& written,
                               const std::filesystem::path* directory) {
  const auto is_of_version = [](const Problem& problem) { return problem.where == "version"; };
  if (!written.is_object() || std::any_of(refused.begin(), refused.end(), is_of_version))
    return refused;
  Problems remaining = remaining_problems(refused, written, directory);
  std::move(remaining.begin(), remaining.end(), std::back_inserter(refused));
  return refused;
}

Problem unreadable(Problem problem) {
  problem.code = ProblemCode::bad_input;
  problem.advice = "Name an experiment file, such as one of resources/experiments.";
  return problem;
}

// Problem for a file that is empty, as created by `touch`, or that contains only a line end.
Problem empty_file(const std::filesystem::path& file) {
  return {"empty_file",
          ProblemCode::bad_input,
          file.string(),
          "the file is empty",
          "an experiment, as JSON",
          "Copy one of the files in resources/experiments, or draw an experiment in the workbench "
          "and save it."};
}

base::Result<Json> read_json(const std::filesystem::path& file) {
  auto text = base::read_file(file, kMaxBytes);
  if (!text) return base::fail(unreadable(text.error()));
  if (text->find_first_not_of(" \t\r\n") == std::string::npos) return base::fail(empty_file(file));
  return base::parse_json(*text, file.string());
}

// Removes the keys that an object's kind does not have, such as `momentum` of an Adam optimizer
// (core/base/field_kinds.h).
void remove_foreign_keys(Json& document) {
  Experiment read;
  Problems ignored;
  base::read_document(document, read, "", ignored);
  std::vector<base::ForeignKey> removed;
  base::remove_foreign_keys(document, read, "", removed);
}

bool is_resolved_file(const Json& file) {
  return file.is_object() && !file.contains("version") && file.contains("document") &&
         file.contains("data");
}

// Returns the experiment document of a file, converted to kVersion, with device groups expanded. If
// the file is a resolved.json, only its experiment document is returned, without measured values
// and the data summary.
Json document_of(const Json& file, Problems& problems) {
  Json document = is_resolved_file(file) ? file["document"] : file;
  upgrade(document);
  if (is_resolved_file(file)) remove_foreign_keys(document);
  problems = expand_device_groups(document);
  return document;
}

// Returns the description of the field at a path, for example of topology.hosts[3].name; null if
// there is none.
const base::FieldDescription* field_at(const std::vector<base::FieldDescription>& fields,
                                       const std::string& path) {
  const auto end = path.find('.');
  const std::string key = path.substr(0, std::min(path.find('['), end));
  const auto field = std::ranges::find(fields, key, &base::FieldDescription::name);
  if (field == fields.end()) return nullptr;
  return end == std::string::npos ? &*field : field_at(field->fields, path.substr(end + 1));
}

// Parses the value as JSON if possible. If the field holds text, keeps the value as text, for
// example 2024 in name=2024; the same applies to the elements of a list of texts.
base::Result<Json> override_value(const std::string& path, const std::string& text) {
  const auto fields = base::describe(Experiment{});
  const base::FieldDescription* field = field_at(fields, path);
  const bool is_text = field != nullptr && field->kind == base::FieldKind::text;
  auto parsed = base::parse_json(text, path);
  if (!parsed) {
    const bool is_structure = text.starts_with('{') || text.starts_with('[');
    if (!is_structure || is_text) return Json(text);
    parsed.error().advice = "Correct the JSON. In a shell, put it in single quotes.";
    return parsed;
  }
  if (parsed->is_string()) return parsed;
  if (is_text) return Json(text);
  if (parsed->is_array() && field != nullptr && field->element == base::FieldKind::text)
    for (Json& element : *parsed)
      if (element.is_number()) element = element.dump();
  return parsed;
}

// Names the keys that an object lost when its kind changed, with their paths and values.
std::string dropped_keys_note(const std::string& kind, const std::vector<std::string>& keys) {
  if (keys.empty()) return "";
  return fmt::format("{} dropped, because the kind {} has no such {}", base::joined_names(keys),
                     kind, keys.size() == 1 ? "key" : "keys");
}

// Removes the keys that the new kind of the object at path `object` does not have. Returns a note
// that names these keys.
std::string drop_foreign_keys(Json& document, const std::string& object) {
  Experiment read;
  Problems problems;
  base::read_document(document, read, "", problems);
  const auto is_kind = [&](const Problem& problem) { return problem.where == object + ".kind"; };
  if (std::ranges::any_of(problems, is_kind)) return "";
  Json rest = document;
  std::vector<base::ForeignKey> removed;
  base::remove_foreign_keys(rest, read, "", removed);
  std::erase_if(removed, [&](const base::ForeignKey& key) {
    return key.path.substr(0, key.path.rfind('.')) != object;
  });
  if (removed.empty()) return "";
  std::vector<std::string> chosen;
  for (const base::ForeignKey& key : removed)
    if (!key.is_default)
      chosen.push_back(fmt::format("{}={}", key.path, base::value_at(document, key.path)->dump()));
  static_cast<void>(base::set_value_at(document, object, *base::value_at(rest, object)));
  return dropped_keys_note(removed.front().kind, chosen);
}

// Sets a missing algorithm to auto if the strategy supports only one all-reduce.
void complete(Experiment& experiment, const Json& written) {
  if (required_all_reduce(experiment.strategy.kind) &&
      !base::value_at(written, "strategy.algorithm"))
    experiment.strategy.algorithm = collective::Algorithm::automatic;
}

// True if `path` is the path `whole`, or a path below it: strategy.gossip.graph and
// strategy.gossip.
bool is_part_of(std::string_view path, std::string_view whole) {
  if (!path.starts_with(whole)) return false;
  path.remove_prefix(whole.size());
  return path.empty() || path.front() == '.' || path.front() == '[';
}

// Reads a document of kVersion. Reports unknown keys. With ForeignKeys::refused, also reports keys
// that objects of another kind have, such as `heads` in a layer of kind relu.
enum class ForeignKeys { ignored, refused };
Checked<Experiment> read(const Json& json, ForeignKeys foreign_keys) {
  if (is_newer(json)) return tl::unexpected(Problems{newer_version(json["version"])});
  Problems problems;
  if (lacks_version(json)) problems.push_back(missing_version());
  Experiment experiment;
  base::read_document(json, experiment, "", problems);
  if (foreign_keys == ForeignKeys::refused) {
    Json rest = json;
    std::vector<base::ForeignKey> foreign;
    base::remove_foreign_keys(rest, experiment, "", foreign);
    // the kind of an object is not known if it could not be read
    const auto has_known_kind = [&](const base::ForeignKey& key) {
      const std::string kind = key.path.substr(0, key.path.rfind('.') + 1) + "kind";
      return std::ranges::count(problems, kind, &Problem::where) == 0;
    };
    Problems refused;
    for (const base::ForeignKey& key : foreign)
      if (has_known_kind(key)) refused.push_back(foreign_key_problem(key));
    // the value of a key that must be removed does not matter
    std::erase_if(problems, [&](const Problem& problem) {
      return std::ranges::any_of(
          refused, [&](const Problem& key) { return is_part_of(problem.where, key.where); });
    });
    std::ranges::move(refused, std::back_inserter(problems));
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  complete(experiment, json);
  return experiment;
}

// With a null `directory`, checks neither data nor this machine.
Checked<Experiment> load_judged(const std::filesystem::path& file,
                                const std::vector<std::string>& overrides,
                                const std::filesystem::path* directory,
                                std::vector<std::string>* notes) {
  const auto contents = read_json(file);
  if (!contents) return tl::unexpected(Problems{contents.error()});
  Problems groups, problems;
  Json json = document_of(*contents, groups);
  const Json written = json;
  for (const std::string& text : overrides) {
    const auto note = apply_override(json, text);
    if (!note)
      problems.push_back(note.error().id == kNotAnOverride ? note.error()
                                                           : in_file("--set", note.error()));
    else if (notes != nullptr && !note->empty()) notes->push_back(*note);
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  auto loaded = read(json, ForeignKeys::refused);
  if (loaded && groups.empty()) return loaded;
  if (!loaded)
    std::ranges::move(add_semantic_problems(loaded.error(), json, directory),
                      std::back_inserter(groups));
  return tl::unexpected(in_file(file, written, overrides, std::move(groups)));
}

}  // namespace

Json to_json(const Experiment& experiment) { return base::write_document(experiment); }

void upgrade(Json& document) {
  rename_old_keys(document);
  if (!has_version(document, 1)) return;
  remove_foreign_keys(document);
  document["version"] = kVersion;
}

Checked<Experiment> from_json(const Json& json) {
  Json document = json;
  upgrade(document);
  return read(document, ForeignKeys::ignored);
}

std::string to_document(const Experiment& experiment) {
  Json document{{"version", kVersion}};
  document.update(base::write_chosen(experiment));
  document["version"] = kVersion;
  const collective::Algorithm algorithm = experiment.strategy.algorithm;
  if (required_all_reduce(experiment.strategy.kind)) {  // for these strategies auto is the default
    document["strategy"].erase("algorithm");
    if (algorithm != collective::Algorithm::automatic)
      document["strategy"]["algorithm"] = base::name_of(algorithm);
  }
  group_devices(document);
  return base::to_readable_text(document);
}

std::vector<std::string> reset_foreign_fields(Experiment& experiment) {
  std::vector<std::string> changed;
  base::reset_foreign_keys(experiment, "", changed);
  return changed;
}

Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides,
                         std::vector<std::string>* notes) {
  return load_judged(file, overrides, nullptr, notes);
}
Checked<Experiment> load(const std::filesystem::path& file,
                         const std::vector<std::string>& overrides,
                         const std::filesystem::path& directory, std::vector<std::string>* notes) {
  return load_judged(file, overrides, &directory, notes);
}

base::Result<void> save(const Experiment& experiment, const std::filesystem::path& file) {
  return base::write_file_atomically(file, to_document(experiment));
}

base::Result<std::string> apply_override(Json& document, const std::string& path_and_value) {
  const auto equals = path_and_value.find('=');
  if (equals == std::string::npos || equals == 0)
    return base::fail({kNotAnOverride, ProblemCode::bad_usage, "--set " + path_and_value,
                       "the override has no path and value", "PATH=VALUE",
                       "For example: --set training.batch_per_rank=64"});
  const std::string path = present_path(path_and_value.substr(0, equals));
  if (auto wrong = base::not_utf8(path_and_value, path)) return base::fail(*wrong);
  const auto before = base::value_at(document, path);
  const auto value = override_value(path, path_and_value.substr(equals + 1));
  if (!value) return base::fail(value.error());
  if (const auto set = base::set_value_at(document, path, *value); !set)
    return base::fail(set.error());
  if (path.starts_with("topology"))  // the value may be a device group, or the count of one
    if (const Problems problems = expand_device_groups(document); !problems.empty())
      return base::fail(problems.front());
  if (!path.ends_with(".kind") || (before && *before == *value)) return std::string();
  return drop_foreign_keys(document, path.substr(0, path.rfind('.')));
}

Json schema() {
  Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  schema.update(base::json_schema(base::describe(Experiment{}), base::Fields<Experiment>::title));
  schema["required"] = {"version"};
  Json& version = schema["properties"]["version"];
  version.erase("minimum");
  version.erase("maximum");
  version["const"] = kVersion;  // older documents have other keys
  Json& device = schema["properties"]["topology"]["properties"]["hosts"]["items"]["properties"]
                       ["devices"]["items"]["properties"];
  device["count"] = {
      {"type", "integer"},
      {"description",
       "Number of equal devices that this entry stands for. Their names are numbered: "
       "cpu with a count of 3 stands for cpu0, cpu1 and cpu2"},
      {"minimum", 1},
      {"maximum", kMaxDevicesPerHost}};
  return schema;
}

}  // namespace trainyard::experiment
