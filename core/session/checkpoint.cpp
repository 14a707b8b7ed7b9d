// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/session/checkpoint_manifest.h"
#include "core/session/safetensors.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::Tensor;

constexpr const char* kManifestName = "manifest.json";
constexpr std::string_view kStepPrefix = "step-", kModelPrefix = "model-", kUnfinishedManifest = "manifest.json.new-";
constexpr std::size_t kMostManifestBytes = std::size_t{1} << 16;
constexpr std::int64_t kMostHeaderBytes = std::int64_t{32} << 20;

Problem damaged(const fs::path& path, std::string what) {
  return {ProblemCode::bad_input, path.string(), std::move(what), "a whole checkpoint", "Use another checkpoint; this one is damaged."};
}

Problem other_model(const fs::path& path, std::string what) { return {ProblemCode::refused, path.string(), std::move(what), "a checkpoint of this model", ""}; }

// The name holds the content's hash, so that a new file never takes the place of one that a manifest still names.
std::string model_name(const std::string& xxh64) { return std::string(kModelPrefix) + xxh64 + ".safetensors"; }

fs::path step_path(const fs::path& directory, std::int64_t step) { return directory / (std::string(kStepPrefix) + std::to_string(step)); }

// N of a path .../step-N; nothing where it is none.
std::optional<std::int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = -1;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == end && step >= 0 && step_path(path.parent_path(), step) == path;
  return whole ? std::optional(step) : std::nullopt;
}

// Steps that have a directory, the last one first.
std::vector<std::int64_t> steps_in(const fs::path& directory) {
  std::error_code error;
  std::vector<std::int64_t> steps;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    if (const auto step = step_of(at->path())) steps.push_back(*step);
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

std::string text_of(CheckpointManifest manifest) {
  const auto dump = [&manifest] { return base::write_document(manifest).dump(2) + "\n"; };
  manifest.xxh64.clear();
  manifest.xxh64 = base::hex(base::xxh64(dump()));
  return dump();
}

CheckpointManifest manifest_of(const CheckpointInfo& info, const CheckpointFile& file) {
  CheckpointManifest manifest;
  manifest.step = info.step;
  manifest.plan_hash = info.plan_hash;
  manifest.files = {file};
  return manifest;
}

NamedTensor named(const model::Parameter& parameter, const Tensor& all) {
  const std::int64_t element = base::size_of(all.dtype);
  const std::span bytes(all.data + parameter.offset * element, static_cast<std::size_t>(parameter.shape.elements() * element));
  return {parameter.name, all.dtype, parameter.shape, bytes};
}

// The flat buffers with what lies in each.
struct Part {
  const std::vector<model::Parameter>& entries;
  std::int64_t elements;
  const Tensor& flat;
};

std::array<Part, 2> parts(const model::Model& model, const CheckpointTensors& tensors) {
  return {Part{model.parameters, model.elements, tensors.parameters}, Part{model.state, model.state_elements, tensors.state}};
}

Result<void> check_buffer(const fs::path& directory, const Part& part) {
  const Tensor& flat = part.flat;
  if (part.elements == 0 && flat.empty()) return {};
  const bool floating = flat.dtype == base::DType::fp32 || flat.dtype == base::DType::fp64;
  if (floating && flat.elements() == part.elements && flat.data != nullptr) return {};
  return base::fail({ProblemCode::bad_usage, directory.string(), "the parameter buffer does not fit the model",
                     std::to_string(part.elements) + " floating-point elements", ""});
}

Result<void> check_buffers(const fs::path& directory, const model::Model& model, const CheckpointTensors& tensors) {
  for (const Part& part : parts(model, tensors))
    if (auto ok = check_buffer(directory, part); !ok) return ok;
  return {};
}

Result<void> make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return base::fail(base::system_problem(directory.string(), "cannot make the directory", error.value()));
  for (const fs::path& parent : {directory.parent_path(), directory.parent_path().parent_path()}) base::sync_directory(parent);
  return {};
}

Result<CheckpointManifest> parse_manifest(const std::string& text, const fs::path& path) {
  const auto json = base::parse_json(text, path.string());
  if (!json) return base::fail(json.error());
  CheckpointManifest manifest;
  base::Problems problems;
  base::read_document(*json, manifest, "", problems);
  if (!problems.empty()) return base::fail(damaged(path, base::to_string(problems.front())));
  if (text != text_of(manifest)) return base::fail(damaged(path, "does not match its own checksum"));
  const CheckpointFile& file = manifest.files.front();
  if (manifest.format != CheckpointManifest{}.format || file.name != model_name(file.xxh64) || file.name != fs::path(file.name).filename())
    return base::fail(damaged(path, "is no manifest of a checkpoint"));
  if (step_of(path.parent_path()) != manifest.step) return base::fail(damaged(path, "is of step " + std::to_string(manifest.step)));
  return manifest;
}

Result<CheckpointManifest> read_manifest(const fs::path& path) {
  return base::read_file(path, kMostManifestBytes).and_then([&](const std::string& text) { return parse_manifest(text, path); });
}

Result<std::string> read_model_file(const fs::path& path, const CheckpointFile& file) {
  auto content = base::read_file(path, static_cast<std::size_t>(file.bytes));
  if (!content) return base::fail(content.error());
  if (content->size() != static_cast<std::size_t>(file.bytes))
    return base::fail(damaged(path, "is " + std::to_string(content->size()) + " bytes long, its manifest says " + std::to_string(file.bytes)));
  if (base::hex(base::xxh64(*content)) != file.xxh64) return base::fail(damaged(path, "does not match the checksum in its manifest"));
  return content;
}

// Read back, for what cannot be read must not become the checkpoint.
Result<void> write_model_file(const fs::path& path, const std::string& content, const CheckpointFile& file) {
  if (auto ok = base::write_file_atomically(path, content); !ok) return ok;
  const auto written = read_model_file(path, file);
  if (!written) return base::fail(written.error());
  if (const auto tensors = read_safetensors(*written, path.string()); !tensors) return base::fail(tensors.error());
  return {};
}

Result<void> write_manifest(const fs::path& path, const std::string& text) {
  if (auto ok = base::write_file_atomically(path, text); !ok) return ok;
  if (const auto ok = read_manifest(path); !ok) return base::fail(ok.error());
  return {};
}

Result<void> check_part(const fs::path& path, const std::vector<NamedTensor>& tensors, const Part& part) {
  for (const model::Parameter& parameter : part.entries) {
    const auto same = [&](const NamedTensor& tensor) { return tensor.name == parameter.name; };
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), same);
    if (tensor == tensors.end()) return base::fail(other_model(path, "has no tensor \"" + parameter.name + "\""));
    if (tensor->shape != parameter.shape) return base::fail(other_model(path, "has another shape for \"" + parameter.name + "\""));
    if (tensor->dtype != part.flat.dtype) return base::fail(other_model(path, "has another dtype for \"" + parameter.name + "\""));
  }
  return {};
}

// Whether the tensors are those of the model, neither more nor fewer; order does not matter.
Result<void> check_tensors(const fs::path& path, const std::vector<NamedTensor>& tensors, const model::Model& model, const CheckpointTensors& wanted) {
  const std::size_t count = model.parameters.size() + model.state.size();
  if (tensors.size() != count) return base::fail(other_model(path, "has " + std::to_string(tensors.size()) + " tensors, the model " + std::to_string(count)));
  for (const Part& part : parts(model, wanted))
    if (auto ok = check_part(path, tensors, part); !ok) return ok;
  return {};
}

void copy(const std::vector<NamedTensor>& tensors, const Part& part) {
  for (const model::Parameter& parameter : part.entries) {
    const auto tensor = std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& candidate) { return candidate.name == parameter.name; });
    if (!tensor->data.empty()) std::memcpy(part.flat.data + parameter.offset * base::size_of(part.flat.dtype), tensor->data.data(), tensor->data.size());
  }
}

// What an older checkpoint of the same step, or a writer that died, left behind. What cannot be removed stays; it does no harm.
void tidy(const fs::path& checkpoint, const std::string& kept) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(checkpoint, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename();
    if (name != kept && (name.starts_with(kModelPrefix) || name.starts_with(kUnfinishedManifest))) old.push_back(at->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

bool is_whole(const fs::path& checkpoint) {
  const auto manifest = read_manifest(checkpoint / kManifestName);
  return manifest && read_model_file(checkpoint / manifest->files.front().name, manifest->files.front());
}

// The manifest goes first: what a killed process leaves of an old checkpoint must not look like one.
void remove_checkpoint(const fs::path& checkpoint) {
  std::error_code error;
  fs::remove(checkpoint / kManifestName, error);
  fs::remove_all(checkpoint, error);
}

// All but `newest`, which was just verified, and the whole one before it.
void prune(const fs::path& directory, std::int64_t newest) {
  bool kept = false;
  for (const std::int64_t step : steps_in(directory)) {
    if (step == newest) continue;
    const fs::path checkpoint = step_path(directory, step);
    if (step < newest && !kept && is_whole(checkpoint)) kept = true;
    else remove_checkpoint(checkpoint);
  }
}

Result<void> write_one(const fs::path& checkpoint, const CheckpointInfo& info, const std::string& content) {
  const std::string hash = base::hex(base::xxh64(content));
  const CheckpointFile file{model_name(hash), hash, static_cast<std::int64_t>(content.size())};
  const std::string manifest = text_of(manifest_of(info, file));
  if (const auto ok = parse_manifest(manifest, checkpoint / kManifestName); !ok) return base::fail(ok.error());
  if (auto ok = make_directory(checkpoint); !ok) return ok;
  if (auto ok = write_model_file(checkpoint / file.name, content, file); !ok) return ok;
  if (auto ok = write_manifest(checkpoint / kManifestName, manifest); !ok) return ok;
  tidy(checkpoint, file.name);
  return {};
}

Result<CheckpointInfo> read_one(const fs::path& checkpoint, const model::Model& model, const CheckpointTensors& wanted) {
  const auto manifest = read_manifest(checkpoint / kManifestName);
  if (!manifest) return base::fail(manifest.error());
  const fs::path path = checkpoint / manifest->files.front().name;
  const std::int64_t most_bytes = wanted.parameters.bytes() + wanted.state.bytes() + kMostHeaderBytes;
  if (manifest->files.front().bytes > most_bytes) return base::fail(other_model(path, "holds more than the model"));
  const auto content = read_model_file(path, manifest->files.front());
  if (!content) return base::fail(content.error());
  const auto tensors = read_safetensors(*content, path.string());
  if (!tensors) return base::fail(tensors.error());
  if (const auto ok = check_tensors(path, *tensors, model, wanted); !ok) return base::fail(ok.error());
  for (const Part& part : parts(model, wanted)) copy(*tensors, part);
  return CheckpointInfo{manifest->step, manifest->plan_hash};
}

}  // namespace

Result<void> write_checkpoint(const fs::path& directory, const CheckpointInfo& info, const model::Model& model, const CheckpointTensors& tensors) {
  if (auto ok = check_buffers(directory, model, tensors); !ok) return ok;
  std::vector<NamedTensor> list;
  for (const Part& part : parts(model, tensors))
    for (const model::Parameter& entry : part.entries) list.push_back(named(entry, part.flat));
  if (auto ok = write_one(step_path(directory, info.step), info, write_safetensors(list)); !ok) return ok;
  prune(directory, info.step);
  return {};
}

Result<LoadedCheckpoint> read_checkpoint(const fs::path& directory, const model::Model& model, const CheckpointTensors& tensors) {
  if (const auto ok = check_buffers(directory, model, tensors); !ok) return base::fail(ok.error());
  base::Problems passed_over;
  for (const std::int64_t step : steps_in(directory)) {
    const auto read = read_one(step_path(directory, step), model, tensors);
    if (read) {
      for (Problem& problem : passed_over) problem.advice = "The checkpoint of step " + std::to_string(step) + " is used instead.";
      return LoadedCheckpoint{*read, std::move(passed_over)};
    }
    if (read.error().code == ProblemCode::refused) return base::fail(read.error());
    passed_over.push_back(read.error());
  }
  if (!passed_over.empty()) return base::fail(passed_over.front());
  return base::fail({ProblemCode::bad_input, directory.string(), "holds no checkpoint", "a directory with step-N/manifest.json in it", ""});
}

}  // namespace trainyard::session
