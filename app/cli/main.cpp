// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cli: everything the workbench does, without a window.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string>
#include <string_view>

#include "app/cli/verbs.h"

namespace {

using namespace trainyard;

// A first word that is no verb is said to be that; CLI11 would only ask for one.
bool is_verb(const CLI::App& program, const std::string& word) {
  return !program.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == word; }).empty();
}

base::Problem unknown_verb(const CLI::App& program, const std::string& word) {
  const auto shown = [](const CLI::App* verb) { return !verb->get_group().empty(); };
  std::string verbs;
  for (const CLI::App* verb : program.get_subcommands(shown)) verbs += (verbs.empty() ? "" : ", ") + verb->get_name();
  return {base::ProblemCode::bad_usage, "trainyard-cli", "\"" + word + "\" is no verb", verbs, "trainyard-cli --help shows examples"};
}

// What the program was asked for, as far as it was understood: "trainyard-cli run".
std::string asked_for(const CLI::App& program) {
  std::string words = program.get_name();
  for (const CLI::App* verb : program.get_subcommands()) words += " " + verb->get_name();
  return words;
}

base::Problem misused(const CLI::App& program, const CLI::ParseError& error) {
  const std::string words = asked_for(program);
  return {base::ProblemCode::bad_usage, words, error.what(), "", words + " --help shows what it takes"};
}

// Whether the result is to be NDJSON, asked before (and even if nothing else of) the command line is understood.
bool wants_json(int argc, char** argv) {
  return std::any_of(argv, argv + argc, [](const char* word) { return std::string_view(word) == "--json"; });
}

// False behind a redirection to a full disk: what was asked for did not arrive. A reader that went away wanted no more.
bool output_arrived() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
  pollfd output{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Trainyard: draw a topology, pick a strategy, train for real.", "trainyard-cli"};
  program.set_version_flag("--version", TRAINYARD_VERSION);
  program.require_subcommand(1);
  program.footer(
      "Examples:\n"
      "  trainyard-cli run resources/experiments/four_devices_mirrored_digits.json\n"
      "  trainyard-cli run experiment.json --set training.batch_per_rank=64 --steps 100 --json\n"
      "  trainyard-cli plan experiment.json --expand\n"
      "Exit codes: 0 done; 2 bad usage or bad input; 3 the run failed; 4 refused; 130 cancelled.");
  const bool json = wants_json(argc, argv);
  int exit_code = 0;
  cli::Verb outermost(program, exit_code);
  for (const auto add : {cli::add_run, cli::add_plan, cli::add_check, cli::add_simulate, cli::add_validate, cli::add_replay, cli::add_export, cli::add_list,
                         cli::add_bench, cli::add_doctor, cli::add_completion})
    add(outermost);
  if (argc > 1 && *argv[1] != '\0' && *argv[1] != '-' && !is_verb(program, argv[1])) return cli::complain({unknown_verb(program, argv[1])}, json);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool answered = error.get_exit_code() == 0;  // --help or --version
    exit_code = answered ? program.exit(error) : cli::complain({misused(program, error)}, json);
    std::cout.flush();
  } catch (const std::bad_alloc&) {
    exit_code = cli::complain({base::out_of_memory(asked_for(program))}, json);
  }
  if (!output_arrived()) return cli::complain({{base::ProblemCode::failed, "standard output", "could not be written", "", "Is the disk full?"}}, false);
  return exit_code;
}
