// SPDX-License-Identifier: GPL-3.0-or-later
// export: the measurements of a run as CSV, its ops as a trace for Perfetto, or its weights as
// safetensors.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ostream>
#include <string_view>

#include "app/cli/output_file.h"
#include "app/cli/verbs.h"
#include "core/base/json.h"
#include "core/base/printable.h"
#include "core/base/units.h"
#include "core/plan/text.h"
#include "core/session/checkpoint/model_weights.h"
#include "core/session/coordinator/journal.h"
#include "core/session/system/run_documents.h"
#include "core/telemetry/export_csv.h"
#include "core/telemetry/export_trace.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using telemetry::History;
using telemetry::OpNames;

struct ExportArguments {
  std::string directory, format, out;
  std::int64_t step = kNewest;  // of the weights
  bool json = false;

  static constexpr std::int64_t kNewest = -1;  // the newest checkpoint
};

OpNames names_of(const plan::RankPlan& rank) {
  OpNames names;
  for (const plan::Program& program : rank.programs) {
    OpNames::Program& named = names.programs.emplace_back(OpNames::Program{program.name, {}});
    for (const plan::Op& op : program.ops)
      named.ops.push_back({plan::token(op), rank.lanes[op.lane.index()].name});
  }
  return names;
}

// Returns the names of ops from the recorded plans. The recording has one plan text per rank; the
// texts are joined and parsed as one plan without groups. If the text of a rank is missing or
// cannot be parsed, ops are named by their indices.
std::vector<OpNames> recorded_names(const History& history) {
  std::string text = "plan 1\nschedule steps 0 full 0\n";
  for (int rank = 0; rank < history.ranks(); ++rank) text += history.plan_text(rank);
  const auto parsed = plan::parse(text);
  std::vector<OpNames> names;
  if (!parsed)
    std::fprintf(stderr,
                 "warning: the recorded plans cannot be read, so ops have numbers only: %s\n",
                 base::to_string(parsed.error()).c_str());
  else
    for (int rank = 0; rank < parsed->ranks; ++rank)
      names.push_back(names_of(parsed->rank_plan(rank)));
  return names;
}

base::Result<void> write(const ExportArguments& arguments, const History& history,
                         std::ostream& out) {
  if (arguments.format == "csv") return telemetry::export_csv(history, out);
  auto written = telemetry::export_trace(arguments.directory, recorded_names(history), out);
  if (!written && out && !history.damage().empty())
    return {};  // the readable part was written; the caller warns that the recording is damaged
  return written;
}

// Prints the result of an export, with the keys in `more`.
int report_written(const ExportArguments& arguments, const base::Json& more) {
  std::error_code error;
  const auto bytes = fs::file_size(arguments.out, error);  // sets `error` if the output is a device
  base::Json result{{"type", "result"},
                    {"status", "completed"},
                    {"format", arguments.format},
                    {"file", arguments.out},
                    {"bytes", error ? 0 : bytes}};
  result.update(more);
  if (arguments.json) print_json(result);
  else std::fprintf(stderr, "wrote %s\n", base::printable_line(arguments.out).c_str());
  return 0;
}

base::Problem no_weights_of_step(const ExportArguments& arguments, std::string what) {
  return {"no_weights_of_step",
          base::ProblemCode::bad_input,
          "--step",
          std::move(what),
          "0, or the step of the newest checkpoint",
          fmt::format("Leave out --step for the newest checkpoint of {}.", arguments.directory)};
}

// Weights of a model, and the number of steps for which they were trained.
struct StepWeights {
  session::ModelWeights weights;
  std::int64_t step = 0;
};

base::Result<StepWeights> weights_of(const ExportArguments& arguments,
                                     const experiment::Resolved& resolved) {
  if (arguments.step == 0 && resolved.first_step == 0)
    return StepWeights{session::initial_weights(resolved), 0};
  if (arguments.step == 0)
    return base::fail(no_weights_of_step(
        arguments,
        fmt::format("the run resumed at step {} from {}; export step 0 of that run",
                    base::format_count(resolved.first_step), resolved.document.run.resume_from)));
  StepWeights newest{session::ModelWeights(resolved), 0};
  const auto read =
      session::read_checkpoint(fs::path(arguments.directory) / session::kCheckpointsDirectory,
                               resolved.model, newest.weights.tensors());
  if (!read) return base::fail(read.error());
  newest.step = read->info.step;
  if (arguments.step != ExportArguments::kNewest && arguments.step != newest.step)
    return base::fail(no_weights_of_step(
        arguments,
        fmt::format("the newest checkpoint is of step {}, not of step {}",
                    base::format_count(newest.step), base::format_count(arguments.step))));
  return newest;
}

int export_weights(const ExportArguments& arguments) {
  if (const auto run = expect_run(arguments.directory); !run)
    return complain({run.error()}, arguments.json);
  const auto resolved = session::read_resolved(arguments.directory);
  if (!resolved) return complain({resolved.error()}, arguments.json);
  auto weights = weights_of(arguments, *resolved);
  if (!weights) return complain({weights.error()}, arguments.json);
  const auto written =
      write_output_file(arguments.out, [&](std::ostream& out) -> base::Result<void> {
        out << session::to_safetensors(resolved->model, weights->weights);
        return {};
      });
  if (!written) return complain({written.error()}, arguments.json);
  return report_written(arguments, {{"step", weights->step}});
}

constexpr const char* kNoOps =
    "the recording has no ops, so the trace has no slices; record them with run.record_ops=true";

int export_recording(const ExportArguments& arguments) {
  const auto history = load_history(arguments.directory);
  if (!history) return complain({history.error()}, arguments.json);
  const bool lacks_ops = arguments.format == "trace" && history->ops().empty();
  const auto written = write_output_file(
      arguments.out, [&](std::ostream& out) { return write(arguments, *history, out); });
  if (!written) return complain({written.error()}, arguments.json);
  base::Json more = base::Json::object();
  if (!history->damage().empty()) more["damage"] = history->damage();
  if (lacks_ops) more["note"] = kNoOps;
  if (lacks_ops && !arguments.json) std::fprintf(stderr, "note: %s\n", kNoOps);
  return report_written(arguments, more);
}

// True if the file is a file that the run wrote, which an export must not replace.
bool is_file_of_run(const fs::path& directory, const fs::path& file) {
  std::error_code error;
  const fs::path within =
      fs::weakly_canonical(file, error).lexically_relative(fs::weakly_canonical(directory, error));
  if (error || within.empty() || *within.begin() == "..") return false;
  const std::string first = within.begin()->string();
  static constexpr std::array<std::string_view, 8> kNames{
      session::kCheckpointsDirectory, session::kOrderFile, session::kLogFile, session::kResultFile,
      session::kResolvedFile,         "experiment.json",   "plan.txt",        "logs"};
  return first.starts_with("recording.") || std::ranges::count(kNames, first) > 0;
}

int run_export(const ExportArguments& arguments) {
  if (is_file_of_run(arguments.directory, arguments.out))
    return complain({{"output_in_run", base::ProblemCode::bad_usage, "--out",
                      fmt::format("{} is a file of the run", arguments.out), "another file",
                      "Choose a name that the run does not use."}},
                    arguments.json);
  if (arguments.format == "safetensors") return export_weights(arguments);
  if (arguments.step == ExportArguments::kNewest) return export_recording(arguments);
  return complain({{"conflicting_options", base::ProblemCode::bad_usage, "--step",
                    fmt::format("the option has no meaning for the format {}", arguments.format),
                    "--format safetensors", "Leave out --step: all steps are exported."}},
                  arguments.json);
}

}  // namespace

void add_export(Verb& program) {
  Verb verb = program.add_verb(
      "export", "Export a run as CSV or as a trace for Perfetto, or its weights as safetensors");
  ExportArguments& arguments = verb.on_run(run_export);
  verb.option("run_directory", arguments.directory, "Run directory").required().type_name("DIR");
  verb.option("--format", arguments.format,
              "Format; csv: all logged values, and faults of ranks and links; trace: all ops, for "
              "ui.perfetto.dev; safetensors: weights, with the names of a PyTorch state dict")
      .required()
      .one_of({"csv", "trace", "safetensors"});
  verb.option("--out", arguments.out, "Output file").required().type_name("FILE");
  verb.option("--step", arguments.step,
              "Step of the weights (safetensors); 0: the initial weights (default: the newest "
              "checkpoint)")
      .range(0, 1'000'000'000);
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli export RUN_DIRECTORY --format csv --out run.csv\n"
      "  trainyard-cli export RUN_DIRECTORY --format safetensors --step 0 --out "
      "initial.safetensors\n"
      "  trainyard-cli export RUN_DIRECTORY --format trace --out run.trace.json   (open in "
      "ui.perfetto.dev)");
}

}  // namespace trainyard::cli
