// SPDX-License-Identifier: GPL-3.0-or-later
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <set>
#include <string>

#include "app/cli/verbs.h"
#include "app/machine_choice.h"
#include "core/base/json.h"
#include "core/base/units.h"
#include "core/experiment/validation_result.h"
#include "core/experiment/vertical.h"
#include "core/session/advice/memory_problems.h"
#include "core/session/coordinator/run_result.h"
#include "core/session/system/run_directory.h"
#include "core/strategy/strategy.h"
#include "core/telemetry/recording.h"
#include "core/telemetry/summary.h"

namespace trainyard::cli {

int exit_code_of(const base::Problem& problem) {
  switch (problem.code) {
    case base::ProblemCode::bad_usage:
    case base::ProblemCode::bad_input:
    case base::ProblemCode::unavailable: return 2;
    case base::ProblemCode::failed: return 3;
    case base::ProblemCode::refused: return 4;
    case base::ProblemCode::canceled: return 130;
  }
  return 3;
}

void print_json(const base::Json& line) {
  const std::string text = base::to_text(line) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {

const char* status_text(int exit_code) {
  return exit_code == 130 ? "cancelled" : exit_code == 3 ? "failed" : "refused";
}

}  // namespace

base::Json problems_json(const base::Problems& problems) {
  base::Json list = base::Json::array();
  for (const base::Problem& problem : problems) list.push_back(session::to_json(problem));
  return list;
}

// Prints each problem once, and at most kMaxPrinted of them.
std::string result_line_of(const base::Problems& problems) {
  int exit_code = 0;
  for (const base::Problem& problem : problems)
    exit_code = std::max(exit_code, exit_code_of(problem));
  return base::to_text(base::Json{{"type", "result"},
                                  {"status", status_text(exit_code)},
                                  {"problems", problems_json(problems)}});
}

int complain(const base::Problems& problems, bool json) {
  constexpr std::size_t kMaxPrinted = 20;
  int exit_code = 0;
  std::set<std::string> printed;
  for (const base::Problem& problem : problems) {
    exit_code = std::max(exit_code, exit_code_of(problem));
    const std::string text = base::to_string(problem);
    if (printed.insert(text).second && printed.size() <= kMaxPrinted)
      std::fprintf(stderr, "error: %s\n", text.c_str());
  }
  if (printed.size() > kMaxPrinted)
    std::fprintf(
        stderr, "error: %s follow (--json prints all of them)\n",
        base::counted(static_cast<std::int64_t>(printed.size() - kMaxPrinted), "more problem")
            .c_str());
  if (json) std::printf("%s\n", result_line_of(problems).c_str());
  return exit_code;
}

void ExperimentArguments::add_to(Verb& verb) {
  verb.option("experiment", file, "Experiment file (JSON)").required().type_name("FILE");
  verb.option(
          "--set", overrides,
          "Set a value of the experiment, for example training.batch_per_rank=64; may be repeated")
      .type_name("PATH=VALUE");
  verb.option(
          "--data-directory", data_directory,
          "Directory where relative data paths start (default: the directory of the experiment)")
      .type_name("DIR");
  verb.option(
          "--hosts", hosts,
          "Machines of the drawn hosts, in order: NAME,NAME,... as ssh accepts them; here: this "
          "machine; slurm: the nodes of this job")
      .type_name("MACHINES");
  verb.json_flag(json);
}

base::Result<std::filesystem::path> ExperimentArguments::directory() const {
  std::error_code error;
  const auto base_path = data_directory.empty()
                             ? std::filesystem::absolute(file, error).parent_path()
                             : std::filesystem::absolute(data_directory, error);
  if (error)
    return base::fail(base::system_problem(data_directory.empty() ? file : data_directory,
                                           "cannot find its directory", error.value()));
  if (!data_directory.empty() && !std::filesystem::is_directory(base_path, error))
    return base::fail({"missing_directory", base::ProblemCode::bad_usage, "--data-directory",
                       fmt::format("{} is not a directory", data_directory), "a directory",
                       "Correct the path, or leave out the option."});
  return base_path;
}

experiment::Checked<experiment::Experiment> load(const ExperimentArguments& arguments,
                                                 std::vector<std::string>* notes) {
  const auto directory = arguments.directory();
  if (!directory) return tl::unexpected(base::Problems{directory.error()});
  std::vector<std::string> printed;
  auto loaded = experiment::load(arguments.file, arguments.overrides, *directory,
                                 notes != nullptr ? notes : &printed);
  for (const std::string& note : printed) std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!loaded || arguments.hosts.empty()) return loaded;
  if (const auto ok = app::choose_machines(arguments.hosts, loaded->topology); !ok)
    return tl::unexpected(base::Problems{ok.error()});
  return loaded;
}

experiment::Checked<experiment::Resolved> load_resolved(const ExperimentArguments& arguments) {
  return load(arguments).and_then(
      [&](const experiment::Experiment& given) { return resolve(given, arguments); });
}

experiment::Checked<experiment::Resolved> resolve(const experiment::Experiment& given,
                                                  const ExperimentArguments& arguments) {
  const auto directory = arguments.directory();
  if (!directory) return tl::unexpected(base::Problems{directory.error()});
  auto findings = experiment::examine(given, *directory);
  if (!findings.problems.empty()) return tl::unexpected(std::move(findings.problems));
  auto resolved = experiment::resolve(given, *directory, std::move(findings));
  if (!resolved) return tl::unexpected(base::Problems{resolved.error()});
  return std::move(*resolved);
}

namespace {

constexpr std::int64_t kStepsToCompare = 3;  // a few steps suffice to determine the cost of a step

base::Result<session::StepCost> cost_of_step(const experiment::Resolved& resolved) {
  return simulate(resolved, kStepsToCompare).map([](const sim::Outcome& outcome) {
    return session::StepCost{outcome.median_step_seconds,
                             outcome.engine.empty() ? outcome.step_wire_bytes() : -1};
  });
}

}  // namespace

base::Problems memory_problems(const experiment::Resolved& resolved,
                               const std::vector<run::MemoryUse>& memory) {
  return session::find_memory_problems(resolved, memory, cost_of_step);
}

base::Problems memory_problems(const experiment::Resolved& resolved) {
  const auto plan = strategy::make_plan(resolved);
  return plan ? memory_problems(resolved, session::memory_of(*plan)) : base::Problems{plan.error()};
}

std::string chosen_algorithm(const experiment::Resolved& resolved) {
  return resolved.algorithm_reason.empty() ? "" : "auto is " + resolved.algorithm_reason;
}

void add_chosen_algorithm(base::Json& result, const experiment::Resolved& resolved) {
  if (resolved.algorithm_reason.empty()) return;
  result["algorithm"] = base::name_of(resolved.document.strategy.algorithm);
  result["algorithm_reason"] = resolved.algorithm_reason;
}

void print_shards(const data::ShardTable& shards) {
  for (std::size_t rank = 0; rank < shards.size(); ++rank)
    std::printf("  rank %-3zu            %s\n", rank, data::shard_text(shards[rank]).c_str());
}

void print_columns(const experiment::Resolved& resolved) {
  const auto lines = experiment::columns_text(resolved);
  for (std::size_t rank = 0; rank < lines.size(); ++rank)
    std::printf("  rank %-3zu            %s\n", rank, lines[rank].c_str());
}

namespace {

// Returns the reason why a directory is not a run, if the names of its files show that. Returns an
// empty string if the files must be read to decide.
std::string not_a_run_reason(const std::filesystem::path& directory) {
  using std::filesystem::file_type;
  std::error_code error;
  const auto type_of = [&](const std::filesystem::path& path) {
    return std::filesystem::status(path, error).type();
  };
  const file_type type = type_of(directory);
  if (type == file_type::not_found) return "the directory does not exist";
  if (type == file_type::none || type == file_type::unknown) return "";
  if (type != file_type::directory) return "the path is not a directory";
  const bool holds_recording =
      type_of(directory / telemetry::kRecordingFile) != file_type::not_found;
  return holds_recording ? ""
                         : fmt::format("the directory contains no {}, so it is not a run",
                                       telemetry::kRecordingFile);
}

base::Problem no_run(const std::string& directory, const std::string& why) {
  return {"not_a_run",
          base::ProblemCode::bad_input,
          directory,
          why,
          "a directory that trainyard-cli run or the workbench created",
          fmt::format("Runs are in {}, unless --out named another directory.",
                      session::default_runs_directory().string())};
}

}  // namespace

base::Result<void> expect_run(const std::string& directory) {
  const std::string why = not_a_run_reason(directory);
  return why.empty() ? base::Result<void>() : base::fail(no_run(directory, why));
}

base::Result<telemetry::History> load_history(const std::string& run_directory) {
  if (const auto run = expect_run(run_directory); !run) return base::fail(run.error());
  auto history = telemetry::History::load(run_directory);
  if (!history) {
    base::Problem problem = history.error();
    problem.code = base::ProblemCode::bad_input;
    return base::fail(problem);
  }
  if (!history->damage().empty()) std::fprintf(stderr, "warning: %s\n", history->damage().c_str());
  if (history->recording_thinned_until() >= 0)
    std::fprintf(stderr, "note: the recording is %s\n",
                 telemetry::thinning_text(history->thinning()).c_str());
  return history;
}

}  // namespace trainyard::cli
