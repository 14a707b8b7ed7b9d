// SPDX-License-Identifier: GPL-3.0-or-later
// export: the measurements of a run as CSV, or its ops as a trace for Perfetto. Writes to a
// temporary file first, so that a failure leaves an existing file unchanged.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <ostream>

#include "app/cli/verbs.h"
#include "core/base/descriptor.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/plan/text.h"
#include "core/telemetry/export_csv.h"
#include "core/telemetry/export_trace.h"

namespace trainyard::cli {
namespace {

namespace fs = std::filesystem;
using telemetry::History;
using telemetry::OpNames;

struct ExportArguments {
  std::string directory, format, out;
  bool json = false;
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

base::Result<void> write_into(const fs::path& file, const ExportArguments& arguments,
                              const History& history) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (!out) return base::fail(base::system_problem(arguments.out, "cannot be written", errno));
  auto written = write(arguments, history, out);
  out.close();
  if (!written || out) return written;
  return base::fail({"export_failed", base::ProblemCode::failed, arguments.out,
                     "the file could not be written completely", "",
                     "Free space on that disk, or write elsewhere."});
}

// Writes the file completely or not at all. If the path is a symbolic link, writes to its target.
base::Result<void> write_file(const ExportArguments& arguments, const History& history) {
  if (base::is_not_regular_file(arguments.out))
    return write_into(arguments.out, arguments, history);
  std::error_code error;
  const fs::path file = base::resolve_link(arguments.out);
  fs::path partial;
  base::Descriptor made(-1);
  for (int i = 0; i < 100 && !made.is_open();
       // O_EXCL refuses an existing file, and a symbolic link that another user planted at the
       // temporary path
       ++i) {
    partial = file.string() + ".partial-" + std::to_string(::getpid()) + "-" + std::to_string(i);
    made = base::Descriptor(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!made.is_open() && errno != EEXIST) break;
  }
  if (!made.is_open())
    return base::fail(base::system_problem(arguments.out, "cannot be written", errno));
  auto written = write_into(partial, arguments, history);
  if (written && ::fsync(made.get()) != 0)
    written = base::fail(base::system_problem(arguments.out, "cannot be written", errno));
  if (written) {
    fs::rename(partial, file, error);
    if (error)
      written = base::fail(base::system_problem(arguments.out, "cannot be written", error.value()));
    base::sync_directory(file.parent_path());
  }
  if (!written) fs::remove(partial, error);
  return written;
}

int run_export(const ExportArguments& arguments) {
  const auto history = load_history(arguments.directory);
  if (!history) return complain({history.error()}, arguments.json);
  if (const auto written = write_file(arguments, *history); !written)
    return complain({written.error()}, arguments.json);
  std::error_code error;
  const auto bytes = fs::file_size(arguments.out, error);  // sets `error` if the output is a device
  base::Json result{{"type", "result"},
                    {"status", "completed"},
                    {"format", arguments.format},
                    {"file", arguments.out},
                    {"bytes", error ? 0 : bytes}};
  if (!history->damage().empty()) result["damage"] = history->damage();
  if (arguments.json) print_json(result);
  else std::fprintf(stderr, "wrote %s\n", arguments.out.c_str());
  return 0;
}

}  // namespace

void add_export(Verb& program) {
  Verb verb =
      program.add_verb("export", "Export a run as CSV, or as a trace for Perfetto and Chrome");
  ExportArguments& arguments = verb.on_run(run_export);
  verb.option("run_directory", arguments.directory, "Run directory").required().type_name("DIR");
  verb.option("--format", arguments.format,
              "Format; csv: all logged values, and faults of ranks and links; trace: all ops, for "
              "ui.perfetto.dev")
      .required()
      .one_of({"csv", "trace"});
  verb.option("--out", arguments.out, "Output file").required().type_name("FILE");
  verb.json_flag(arguments.json);
  verb.examples(
      "Examples:\n"
      "  trainyard-cli export RUN_DIRECTORY --format csv --out run.csv\n"
      "  trainyard-cli export RUN_DIRECTORY --format trace --out run.trace.json   (open in "
      "ui.perfetto.dev)");
}

}  // namespace trainyard::cli
