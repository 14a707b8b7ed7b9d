// SPDX-License-Identifier: GPL-3.0-or-later
// trainyard-cli: all functions of the workbench on the command line.
#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <new>
#include <string_view>

#include "app/cli/verbs.h"

namespace {

using namespace trainyard;

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
  app::Program program("trainyard-cli",
                       "Trainyard: run, check, simulate and analyze distributed training.",
                       TRAINYARD_VERSION);
  app::Verb outermost = program.verb();
  outermost.require_verb();
  outermost.examples(
      "Examples:\n"
      "  trainyard-cli run resources/experiments/four_devices_mirrored_digits.json\n"
      "  trainyard-cli run experiment.json --set training.batch_per_rank=64 --steps 100 --json\n"
      "  trainyard-cli plan experiment.json --expand\n"
      "Exit codes: 0 done; 2 bad usage or bad input; 3 the run failed; 4 refused; 130 canceled.");
  for (const auto add :
       {cli::add_run, cli::add_sweep, cli::add_plan, cli::add_check, cli::add_simulate,
        cli::add_validate, cli::add_replay, cli::add_verify, cli::add_export, cli::add_list,
        cli::add_bench, cli::add_hosts, cli::add_doctor, cli::add_manual, cli::add_schema})
    add(outermost);
  cli::add_completion(program);
  const bool json = wants_json(argc, argv);
  int exit_code = 0;
  try {
    const auto ran = program.run(argc, argv);
    exit_code = ran ? *ran : cli::complain({ran.error()}, json);
    std::cout.flush();
  } catch (const std::bad_alloc&) {
    exit_code = cli::complain({base::out_of_memory(program.command())}, json);
  } catch (const std::exception& error) {
    exit_code =
        cli::complain({{"unexpected_exception", base::ProblemCode::failed, program.command(),
                        fmt::format("unexpected exception: {}", error.what()), "",
                        "This is an error in Trainyard. Report it with this command line."}},
                      json);
  }
  if (!output_arrived())
    return cli::complain({{"output_failed", base::ProblemCode::failed, "standard output",
                           "the output could not be written", "", "Is the disk full?"}},
                         false);
  return exit_code;
}
