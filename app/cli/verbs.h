// SPDX-License-Identifier: GPL-3.0-or-later
// Verbs of trainyard-cli. Each function adds its verb to the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/bind/memory_use.h"
#include "core/sim/simulator.h"
#include "core/telemetry/history.h"

namespace trainyard::cli {

using app::Option;
using app::Verb;

void add_run(Verb& program);
void add_sweep(Verb& program);
void add_plan(Verb& program);
void add_check(Verb& program);
void add_simulate(Verb& program);
void add_validate(Verb& program);
void add_replay(Verb& program);
void add_export(Verb& program);
void add_verify(Verb& program);
void add_list(Verb& program);
void add_bench(Verb& program);
void add_bench_rank(Verb& program);  // adds the hidden verb that runs one rank of a bench
void add_doctor(Verb& program);
void add_completion(app::Program& program);
void add_schema(Verb& program);
void add_manual(Verb& program);
void add_hosts(Verb& program);
void add_hosts_listen(Verb& hosts);  // adds the verbs of hosts for invitations

// Returns the exit code: 0 done; 2 bad usage or bad input; 3 the run failed; 4 refused; 130
// canceled.
int exit_code_of(const base::Problem& problem);

// Prints the problems on standard error, and with --json also as the last line on standard output.
// Returns the exit code.
int complain(const base::Problems& problems, bool json);
// Returns the result line that `complain` prints.
std::string result_line_of(const base::Problems& problems);
base::Json problems_json(const base::Problems& problems);
// Returns a problem if drawn devices have too little memory for the strategy, or if the strategy
// has no plan.
base::Problems memory_problems(const experiment::Resolved& resolved);
base::Problems memory_problems(const experiment::Resolved& resolved,
                               const std::vector<run::MemoryUse>& memory);
// Returns a note for each unused setting, with the field that makes it unused.
std::vector<std::string> unused_setting_notes(const experiment::Experiment& given);
void print_json(const base::Json& line);  // prints one NDJSON line on standard output

// Arguments that most verbs have: an experiment file, overrides of its values, and --json.
struct ExperimentArguments {
  std::string file;
  std::vector<std::string> overrides;
  bool json = false;

  // Directory from which relative data paths start. If empty, it is the directory of the experiment
  // file.
  std::string data_directory;
  std::string hosts;  // as app::choose_machines; empty: as drawn

  void add_to(Verb& verb);
  base::Result<std::filesystem::path> directory() const;
};

// `load` reads the file and applies the overrides. If an override removes keys, notes about them
// are added to `notes`; if that is null, they are printed on standard error. `resolve` validates
// and resolves an experiment. `load_resolved` does both. Each function reports all problems at
// once.
experiment::Checked<experiment::Experiment> load(const ExperimentArguments& arguments,
                                                 std::vector<std::string>* notes = nullptr);
experiment::Checked<experiment::Resolved> resolve(const experiment::Experiment& given,
                                                  const ExperimentArguments& arguments);
experiment::Checked<experiment::Resolved> load_resolved(const ExperimentArguments& arguments);

// Returns which algorithm `auto` chose and why, for example "auto is direct: 1.2 ms ...". Returns
// an empty string if the document names an algorithm.
std::string chosen_algorithm(const experiment::Resolved& resolved);
// Adds the algorithm that `auto` chose, and the reason, to a result. Adds nothing if the document
// names an algorithm.
void add_chosen_algorithm(base::Json& result, const experiment::Resolved& resolved);

// Simulates `steps` steps on a virtual clock with the drawn speeds; 0: sim::automatic_steps.
base::Result<sim::Outcome> simulate(const experiment::Resolved& resolved, std::int64_t steps,
                                    const sim::Watch& watch = {});

// Prints the data shard of each rank, one line per rank.
void print_shards(const data::ShardTable& shards);
// Prints the feature columns of each rank, if they are sharded.
void print_columns(const experiment::Resolved& resolved);

// Returns a problem not_a_run if the directory has no recording.
base::Result<void> expect_run(const std::string& directory);

// Loads the recording from a run directory. Returns a problem bad_input if it cannot be read.
// Prints a warning on standard error if it is damaged.
base::Result<telemetry::History> load_history(const std::string& run_directory);

}  // namespace trainyard::cli
