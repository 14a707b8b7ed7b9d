// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cli: all functions of the workbench on the command line.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "app/cli/verbs.h"

namespace {

using namespace trainyard;

// Returns the full command of a verb, for example "trainyard-cli bench allreduce".
std::string command_of(const CLI::App& verb) {
  const CLI::App* outer = verb.get_parent();
  return outer == nullptr ? verb.get_name() : command_of(*outer) + " " + verb.get_name();
}

// Returns the names of the visible subcommands of a verb; empty if there are none.
std::string verbs_of(const CLI::App& verb) {
  const auto shown = [](const CLI::App* inner) { return !inner->get_group().empty(); };
  std::string verbs;
  for (const CLI::App* inner : verb.get_subcommands(shown))
    verbs += (verbs.empty() ? "" : ", ") + inner->get_name();
  return verbs;
}

// Reports the first word that should name a verb but does not. CLI11 would only report that a
// subcommand is required.
std::optional<base::Problem> unknown_verb(const CLI::App& outer, char** words) {
  const std::string word = *words == nullptr ? "" : *words, verbs = verbs_of(outer);
  if (verbs.empty() || word.empty() || word.front() == '-') return {};
  const auto named =
      outer.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == word; });
  if (!named.empty()) return unknown_verb(*named.front(), words + 1);
  return base::Problem{"unknown_verb",
                       base::ProblemCode::bad_usage,
                       command_of(outer),
                       fmt::format("\"{}\" is not a verb", word),
                       verbs,
                       command_of(outer) + " --help shows examples."};
}

// Returns the innermost verb that was parsed.
const CLI::App& innermost_verb(const CLI::App& outer) {
  const auto verbs = outer.get_subcommands();
  return verbs.empty() ? outer : innermost_verb(*verbs.back());
}

base::Problem usage_problem(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App& verb = innermost_verb(program);
  const std::string verbs = verbs_of(verb);
  const bool lacks_verb =
      !verbs.empty() && dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  return {"bad_arguments",
          base::ProblemCode::bad_usage,
          command_of(verb),
          lacks_verb ? "a verb is missing" : error.what(),
          verbs,
          command_of(verb) + " --help shows its options."};
}

// True if --json is given. Scans the raw arguments, because errors of the parser must also be
// printed as NDJSON.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc,
                     [](const char* word) { return std::string_view(word) == "--json"; });
}

// False if standard output lost data, for example on a full disk. A reader that closed the pipe is
// not an error.
bool output_arrived() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Trainyard: run, check, simulate and analyze distributed training.",
                   "trainyard-cli"};
  program.set_version_flag("--version", TRAINYARD_VERSION);
  program.require_subcommand(1);
  program.get_formatter()->label("SUBCOMMAND", "VERB");
  program.footer(
      "Examples:\n"
      "  trainyard-cli run resources/experiments/four_devices_mirrored_digits.json\n"
      "  trainyard-cli run experiment.json --set training.batch_per_rank=64 --steps 100 --json\n"
      "  trainyard-cli plan experiment.json --expand\n"
      "Exit codes: 0 done; 2 bad usage or bad input; 3 the run failed; 4 refused; 130 canceled.");
  const bool json = wants_json(argc, argv);
  int exit_code = 0;
  cli::Verb outermost(program, exit_code);
  for (const auto add :
       {cli::add_run, cli::add_sweep, cli::add_plan, cli::add_check, cli::add_simulate,
        cli::add_validate, cli::add_replay, cli::add_export, cli::add_list, cli::add_bench,
        cli::add_doctor, cli::add_manual, cli::add_completion, cli::add_schema})
    add(outermost);
  if (const auto problem = unknown_verb(program, argv + 1)) return cli::complain({*problem}, json);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool answered = error.get_exit_code() == 0;  // --help or --version
    exit_code =
        answered ? program.exit(error) : cli::complain({usage_problem(program, error)}, json);
    std::cout.flush();
  } catch (const std::bad_alloc&) {
    exit_code = cli::complain({base::out_of_memory(command_of(innermost_verb(program)))}, json);
  } catch (const std::exception& error) {
    exit_code = cli::complain(
        {{"unexpected_exception", base::ProblemCode::failed, command_of(innermost_verb(program)),
          fmt::format("unexpected exception: {}", error.what()), "", ""}},
        json);
  }
  if (!output_arrived())
    return cli::complain({{"output_failed", base::ProblemCode::failed, "standard output",
                           "the output could not be written", "", "Is the disk full?"}},
                         false);
  return exit_code;
}
