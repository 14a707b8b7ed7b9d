// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/checkpoint/checkpoint.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <string>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/stored_document.h"
#include "core/session/checkpoint/checkpoint_pieces.h"

namespace trainyard::session {
namespace {

namespace fs = std::filesystem;
using base::Problem;
using base::ProblemCode;
using base::Result;
using compute::Tensor;

constexpr const char* kManifestName = "manifest.json";
constexpr std::string_view kStepPrefix = "step-", kSuffix = ".safetensors",
                           kUnfinishedManifest = "manifest.json.new-";
constexpr const char* kWhole = "model";  // Name of the only part, if a checkpoint has one part.
constexpr std::size_t kMaxManifestBytes = std::size_t{4} << 20;
constexpr std::int64_t kMaxHeaderBytes = std::int64_t{32} << 20;

Problem damaged(const fs::path& path, std::string what) {
  return {"damaged_checkpoint",    ProblemCode::bad_input,
          path.string(),           std::move(what),
          "a complete checkpoint", "Use another checkpoint, because this checkpoint is damaged."};
}

Problem no_checkpoint_problem(const fs::path& directory) {
  return {"no_checkpoint",
          ProblemCode::bad_input,
          directory.string(),
          "no checkpoint was committed",
          "a directory that contains step-N/manifest.json",
          "Set run.checkpoint_every_steps, so that runs write checkpoints while they train."};
}

// Returns the name of a checkpoint file. It contains the hash of the content, so a new file never
// replaces a file that a manifest still names.
std::string file_name(const std::string& part, const std::string& xxh64) {
  return part + "-" + xxh64 + std::string(kSuffix);
}

bool is_part_name(const std::string& name) {
  return !name.empty() && name.size() < 80 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
}

// Accepts only file names without a directory, so that files stay inside the checkpoint's
// directory.
bool is_file_name(const CheckpointFile& file) {
  const std::string end = "-" + file.xxh64 + std::string(kSuffix);
  return file.name.size() > end.size() && file.name.ends_with(end) &&
         is_part_name(file.name.substr(0, file.name.size() - kSuffix.size()));
}

fs::path step_path(const fs::path& directory, std::int64_t step) {
  return directory / (std::string(kStepPrefix) + std::to_string(step));
}

// Returns the step N of a checkpoint directory .../step-N, or nothing if the path has another form.
std::optional<std::int64_t> step_of(const fs::path& path) {
  const std::string name = path.filename();
  if (!name.starts_with(kStepPrefix)) return std::nullopt;
  std::int64_t step = -1;
  const char* const end = name.data() + name.size();
  const auto parsed = std::from_chars(name.data() + kStepPrefix.size(), end, step);
  const bool whole = parsed.ec == std::errc{} && parsed.ptr == end && step >= 0 &&
                     step_path(path.parent_path(), step) == path;
  return whole ? std::optional(step) : std::nullopt;
}

// Returns the steps N for which there is a directory `step-N`, newest first.
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

CheckpointManifest manifest_of(const CheckpointInfo& info,
                               const std::vector<CheckpointFile>& files) {
  CheckpointManifest manifest;
  manifest.step = info.step;
  manifest.plan_hash = info.plan_hash;
  manifest.files = files;
  return manifest;
}

Result<void> check_buffer(const fs::path& directory, std::int64_t elements, const Tensor& flat) {
  if (elements == 0 && flat.empty()) return {};
  const bool floating = flat.dtype == base::DType::fp32 || flat.dtype == base::DType::fp64;
  if (floating && flat.elements() == elements && flat.data != nullptr) return {};
  return base::fail({"bad_parameter_buffer", ProblemCode::bad_usage, directory.string(),
                     "the parameter buffer does not match the model",
                     fmt::format("{} floating-point elements", elements), ""});
}

Result<void> check_buffers(const fs::path& directory, const model::Model& model,
                           const CheckpointTensors& tensors) {
  if (auto ok = check_buffer(directory, model.elements, tensors.parameters); !ok) return ok;
  for (const Tensor& moment : tensors.moments)
    if (auto ok = check_buffer(directory, model.elements, moment); !ok) return ok;
  return check_buffer(directory, model.state_elements, tensors.state);
}

Result<void> make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return base::fail(
        base::system_problem(directory.string(), "cannot make the directory", error.value()));
  for (const fs::path& parent : {directory.parent_path(), directory.parent_path().parent_path()})
    base::sync_directory(parent);
  return {};
}

Result<CheckpointManifest> parse_manifest(const std::string& text, const fs::path& path) {
  const auto json = base::parse_json(text, path.string());
  if (!json) return base::fail(damaged(path, json.error().what));
  CheckpointManifest manifest;
  base::Problems problems;
  base::read_complete(*json, manifest, "", problems);
  if (!problems.empty()) return base::fail(damaged(path, base::to_string(problems.front())));
  if (text != text_of(manifest))
    return base::fail(damaged(path, "the file does not match its own checksum"));
  std::set<std::string> names;
  const auto is_new = [&](const CheckpointFile& file) {
    return is_file_name(file) && names.insert(file.name).second;
  };
  const bool files =
      !manifest.files.empty() && std::all_of(manifest.files.begin(), manifest.files.end(), is_new);
  if (manifest.format != CheckpointManifest{}.format || !files)
    return base::fail(damaged(path, "the file is not a manifest of a checkpoint"));
  if (step_of(path.parent_path()) != manifest.step)
    return base::fail(damaged(path, fmt::format("the manifest is of step {}", manifest.step)));
  return manifest;
}

Result<CheckpointManifest> read_manifest(const fs::path& path) {
  return base::read_file(path, kMaxManifestBytes).and_then([&](const std::string& text) {
    return parse_manifest(text, path);
  });
}

Result<std::string> read_part_file(const fs::path& path, const CheckpointFile& file) {
  auto content = base::read_file(path, static_cast<std::size_t>(file.bytes));
  if (!content) return base::fail(content.error());
  if (content->size() != static_cast<std::size_t>(file.bytes))
    return base::fail(damaged(path, fmt::format("the file has {} bytes, but its manifest states {}",
                                                content->size(), file.bytes)));
  if (base::hex(base::xxh64(*content)) != file.xxh64)
    return base::fail(damaged(path, "the file does not match the checksum in its manifest"));
  return content;
}

// Writes one file of a checkpoint and reads it back, because an unreadable file must not become
// part of a checkpoint.
Result<void> write_part_file(const fs::path& path, const std::string& content,
                             const CheckpointFile& file) {
  if (auto ok = base::write_file_atomically(path, content); !ok) return ok;
  const auto written = read_part_file(path, file);
  if (!written) return base::fail(written.error());
  if (const auto tensors = read_safetensors(*written, path.string()); !tensors)
    return base::fail(tensors.error());
  return {};
}

Result<void> write_manifest(const fs::path& path, const std::string& text) {
  if (auto ok = base::write_file_atomically(path, text); !ok) return ok;
  if (const auto ok = read_manifest(path); !ok) return base::fail(ok.error());
  return {};
}

// Removes files that remain from an older checkpoint of the same step, or from a writer that died.
// Ignores errors, because such files are harmless.
void remove_stale_files(const fs::path& checkpoint, const std::vector<CheckpointFile>& kept) {
  std::error_code error;
  std::vector<fs::path> old;
  for (fs::directory_iterator at(checkpoint, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename();
    const bool named = std::any_of(kept.begin(), kept.end(),
                                   [&](const CheckpointFile& file) { return file.name == name; });
    if (!named &&
        (name.find(kSuffix) != std::string::npos || name.starts_with(kUnfinishedManifest)))
      old.push_back(at->path());
  }
  for (const fs::path& path : old) fs::remove(path, error);
}

bool is_complete(const fs::path& checkpoint) {
  const auto manifest = read_manifest(checkpoint / kManifestName);
  return manifest && std::all_of(manifest->files.begin(), manifest->files.end(),
                                 [&](const CheckpointFile& file) {
                                   return read_part_file(checkpoint / file.name, file).has_value();
                                 });
}

// Removes a checkpoint, its manifest first, so that a process killed halfway leaves no directory
// that looks like a checkpoint.
void remove_checkpoint(const fs::path& checkpoint) {
  std::error_code error;
  fs::remove(checkpoint / kManifestName, error);
  fs::remove_all(checkpoint, error);
}

// Removes all checkpoints except `newest`, which was just verified, and the complete checkpoint
// before it. If `keeps_unfinished`, also keeps uncommitted checkpoints of later steps, because
// ranks may still be writing them.
void prune(const fs::path& directory, std::int64_t newest, bool keeps_unfinished) {
  bool kept = false;
  std::error_code error;
  for (const std::int64_t step : steps_in(directory)) {
    const fs::path checkpoint = step_path(directory, step);
    if (step == newest ||
        (step > newest && keeps_unfinished && !fs::exists(checkpoint / kManifestName, error)))
      continue;
    if (step < newest && !kept && is_complete(checkpoint)) kept = true;
    else remove_checkpoint(checkpoint);
  }
}

CheckpointPart part_of(const std::string& name, std::int64_t version, std::string content) {
  const std::string hash = base::hex(base::xxh64(content));
  const auto bytes = static_cast<std::int64_t>(content.size());
  return {{file_name(name, hash), hash, bytes, version}, std::move(content)};
}

Result<void> write_file(const fs::path& checkpoint, const CheckpointPart& part) {
  if (auto ok = make_directory(checkpoint); !ok) return ok;
  return write_part_file(checkpoint / part.file.name, part.content, part.file);
}

Result<void> commit(const fs::path& checkpoint, const CheckpointInfo& info,
                    const std::vector<CheckpointFile>& files) {
  if (auto ok = write_manifest(checkpoint / kManifestName, text_of(manifest_of(info, files))); !ok)
    return ok;
  remove_stale_files(checkpoint, files);
  return {};
}

// Checks that the manifest can be read back. Uses a sample entry in place of the checkpoint's
// files.
Result<void> check_manifest(const fs::path& checkpoint, const CheckpointInfo& info) {
  const std::string hash(16, '0');
  const auto parsed =
      parse_manifest(text_of(manifest_of(info, {{file_name(kWhole, hash), hash, 0, 0}})),
                     checkpoint / kManifestName);
  return parsed ? Result<void>() : base::fail(parsed.error());
}

// Combines the problems of all damaged checkpoints, newest first, into one problem. A missing file
// counts as damage.
Problem no_complete_checkpoint(const base::Problems& all) {
  Problem problem = all.front();
  problem.code = ProblemCode::bad_input;
  if (all.size() == 1) return problem;
  for (auto other = std::next(all.begin()); other != all.end(); ++other)
    problem.what += fmt::format("; and {}: {}", other->where, other->what);
  problem.advice =
      "The directory contains no complete checkpoint. Start the run again, or resume from another "
      "directory.";
  return problem;
}

struct Read {
  CheckpointInfo info;
  std::vector<CheckpointFile> files;
};

Result<Read> read_one(const fs::path& checkpoint, const model::Model& model,
                      const CheckpointTensors& wanted) {
  const auto manifest = read_manifest(checkpoint / kManifestName);
  if (!manifest) return base::fail(manifest.error());
  // Limits the number of bytes that are read from checkpoint files. Files may hold up to two
  // optimizer moments, even if the caller does not request them.
  const std::int64_t max_bytes = 3 * wanted.parameters.bytes() + wanted.state.bytes() +
                                 kMaxHeaderBytes * std::ssize(manifest->files);
  std::int64_t bytes = 0;
  std::vector<std::string> contents;
  std::vector<NamedTensor> pieces;
  contents.reserve(manifest->files.size());
  for (const CheckpointFile& file : manifest->files) {
    const fs::path path = checkpoint / file.name;
    if (file.bytes > max_bytes - bytes)
      return base::fail(
          other_model(path, "the file holds more bytes than the tensors of this model"));
    bytes += file.bytes;
    auto content = read_part_file(path, file);
    if (!content) return base::fail(content.error());
    contents.push_back(std::move(*content));
    const auto tensors = read_safetensors(contents.back(), path.string());
    if (!tensors) return base::fail(tensors.error());
    pieces.insert(pieces.end(), tensors->begin(), tensors->end());
  }
  const fs::path named =
      manifest->files.size() == 1 ? checkpoint / manifest->files.front().name : checkpoint;
  if (const auto ok = check_pieces(named, pieces, model, wanted); !ok)
    return base::fail(ok.error());
  copy_pieces(pieces, model, wanted);
  return Read{{manifest->step, manifest->plan_hash}, manifest->files};
}

}  // namespace

Result<void> write_checkpoint(const fs::path& directory, const CheckpointInfo& info,
                              const model::Model& model, const CheckpointTensors& tensors) {
  const fs::path checkpoint = step_path(directory, info.step);
  if (auto ok = check_buffers(directory, model, tensors).and_then([&] {
        return check_manifest(checkpoint, info);
      });
      !ok)
    return ok;
  const CheckpointPart part = encode_part(kWhole, info.step, model, spans_of(tensors));
  if (auto ok = write_file(checkpoint, part); !ok) return ok;
  if (auto ok = commit(checkpoint, info, {part.file}); !ok) return ok;
  prune(directory, info.step, false);
  return {};
}

CheckpointPart encode_part(const std::string& name, std::int64_t version, const model::Model& model,
                           const std::vector<CheckpointSpan>& spans) {
  return part_of(name, version, write_safetensors(pieces_of(model, spans)));
}

Result<void> store_part(const fs::path& directory, std::int64_t step, const CheckpointPart& part) {
  if (step < 0 || !is_file_name(part.file))
    return base::fail(
        {"bad_checkpoint_part", ProblemCode::bad_usage, directory.string(),
         fmt::format("\"{}\" of step {} is not part of a checkpoint", part.file.name, step), "",
         ""});
  return write_file(step_path(directory, step), part);
}

Result<CheckpointFile> write_part(const fs::path& directory, std::int64_t step,
                                  const std::string& name, std::int64_t version,
                                  const model::Model& model,
                                  const std::vector<CheckpointSpan>& spans) {
  const CheckpointPart part = encode_part(name, version, model, spans);
  return store_part(directory, step, part).map([&] { return part.file; });
}

Result<void> commit_checkpoint(const fs::path& directory, const CheckpointInfo& info,
                               const std::vector<CheckpointFile>& parts) {
  const fs::path checkpoint = step_path(directory, info.step);
  if (auto ok = check_manifest(checkpoint, info).and_then([&] {
        return commit(checkpoint, info, parts);
      });
      !ok)
    return ok;
  prune(directory, info.step, true);
  return {};
}

std::optional<std::int64_t> committed_step(const fs::path& directory) {
  std::error_code error;
  for (const std::int64_t step : steps_in(directory))
    if (fs::exists(step_path(directory, step) / kManifestName, error)) return step;
  return std::nullopt;
}

Result<CheckpointInfo> newest_checkpoint(const fs::path& directory) {
  for (const std::int64_t step : steps_in(directory))
    if (is_complete(step_path(directory, step)))
      return read_manifest(step_path(directory, step) / kManifestName)
          .map([](const CheckpointManifest& manifest) {
            return CheckpointInfo{manifest.step, manifest.plan_hash};
          });
  return base::fail(no_checkpoint_problem(directory));
}

Result<LoadedCheckpoint> read_checkpoint(const fs::path& directory, const model::Model& model,
                                         const CheckpointTensors& tensors) {
  if (const auto ok = check_buffers(directory, model, tensors); !ok) return base::fail(ok.error());
  base::Problems skipped;
  for (const std::int64_t step : steps_in(directory)) {
    const auto read = read_one(step_path(directory, step), model, tensors);
    if (read) {
      for (Problem& problem : skipped)
        problem.advice = fmt::format("The checkpoint of step {} is used instead.", step);
      return LoadedCheckpoint{read->info, read->files, std::move(skipped)};
    }
    if (read.error().code == ProblemCode::refused) return base::fail(read.error());
    skipped.push_back(read.error());
  }
  if (!skipped.empty()) return base::fail(no_complete_checkpoint(skipped));
  return base::fail(no_checkpoint_problem(directory));
}

}  // namespace trainyard::session
