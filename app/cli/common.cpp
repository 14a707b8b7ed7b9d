// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cstdio>

#include "app/cli/verbs.h"
#include "core/experiment/findings.h"
#include "core/session/run_result.h"

namespace trainyard::cli {

int exit_code_of(const base::Problem& problem) {
  switch (problem.code) {
    case base::ProblemCode::bad_usage:
    case base::ProblemCode::bad_input:
    case base::ProblemCode::unavailable: return 2;
    case base::ProblemCode::failed: return 3;
    case base::ProblemCode::refused: return 4;
    case base::ProblemCode::cancelled: return 130;
  }
  return 3;
}

void print_json(const base::Json& line) {
  const std::string text = line.dump(-1, ' ', false, base::Json::error_handler_t::replace) + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

namespace {

const char* status_word(int exit_code) { return exit_code == 130 ? "cancelled" : exit_code == 3 ? "failed" : "refused"; }

}  // namespace

int complain(const base::Problems& problems, bool json) {
  int exit_code = 0;
  base::Json list = base::Json::array();
  for (const base::Problem& problem : problems) {
    std::fprintf(stderr, "error: %s\n", base::to_string(problem).c_str());
    list.push_back(session::to_json(problem));
    exit_code = std::max(exit_code, exit_code_of(problem));
  }
  if (json) print_json({{"type", "result"}, {"status", status_word(exit_code)}, {"problems", list}});
  return exit_code;
}

void ExperimentArguments::add_to(Verb& verb) {
  verb.option("experiment", file, "Experiment file (JSON)").required().type_name("FILE");
  verb.option("--set", overrides, "Override a value of the experiment: PATH=VALUE; may be repeated").type_name("PATH=VALUE");
  verb.option("--data-directory", data_directory, "Where relative data paths start (default: beside the experiment)").type_name("DIR");
  verb.json_flag(json);
}

base::Result<std::filesystem::path> ExperimentArguments::directory() const {
  std::error_code error;
  const auto base_path = data_directory.empty() ? std::filesystem::absolute(file, error).parent_path() : std::filesystem::absolute(data_directory, error);
  if (error) return base::fail(base::system_problem(data_directory.empty() ? file : data_directory, "cannot find its directory", error.value()));
  return base_path;
}

experiment::Checked<experiment::Experiment> load(const ExperimentArguments& arguments) {
  const auto directory = arguments.directory();
  if (!directory) return tl::unexpected(base::Problems{directory.error()});
  return experiment::load(arguments.file, arguments.overrides, *directory);
}

experiment::Checked<experiment::Resolved> load_resolved(const ExperimentArguments& arguments) {
  return load(arguments).and_then([&](const experiment::Experiment& given) { return resolve(given, arguments); });
}

experiment::Checked<experiment::Resolved> resolve(const experiment::Experiment& given, const ExperimentArguments& arguments) {
  const auto directory = arguments.directory();
  if (!directory) return tl::unexpected(base::Problems{directory.error()});
  if (auto problems = experiment::validate(given, *directory); !problems.empty()) return tl::unexpected(std::move(problems));
  auto resolved = experiment::resolve(given, *directory);
  if (!resolved) return tl::unexpected(base::Problems{resolved.error()});
  return std::move(*resolved);
}

base::Result<telemetry::History> load_history(const std::string& run_directory) {
  auto history = telemetry::History::load(run_directory);
  if (!history) {
    base::Problem problem = history.error();
    problem.code = base::ProblemCode::bad_input;
    return base::fail(problem);
  }
  if (!history->damage().empty()) std::fprintf(stderr, "warning: %s\n", history->damage().c_str());
  return history;
}

}  // namespace trainyard::cli
