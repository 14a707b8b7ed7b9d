// SPDX-License-Identifier: GPL-3.0-or-later
// The verbs of trainyard-cli. Each adds itself to the program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/cli/options.h"
#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/memory_use.h"
#include "core/sim/simulator.h"
#include "core/telemetry/history.h"

namespace trainyard::cli {

void add_run(Verb& program);
void add_sweep(Verb& program);
void add_plan(Verb& program);
void add_check(Verb& program);
void add_simulate(Verb& program);
void add_validate(Verb& program);
void add_replay(Verb& program);
void add_export(Verb& program);
void add_list(Verb& program);
void add_bench(Verb& program);
void add_bench_rank(Verb& program);  // hidden: one process of a bench
void add_doctor(Verb& program);
void add_completion(Verb& program);

// Exit codes of the contract: 0 done; 2 bad usage or bad input; 3 the run failed; 4 refused; 130
// cancelled.
int exit_code_of(const base::Problem& problem);

// Says the problems on standard error - with --json also as the last line on standard output - and
// gives the exit code.
int complain(const base::Problems& problems, bool json);
base::Json problems_json(const base::Problems& problems);
// Why the drawn devices cannot hold what the strategy puts on them; or why it has no plan.
base::Problems problems_of_room(const experiment::Resolved& resolved);
base::Problems problems_of_room(const experiment::Resolved& resolved,
                                const std::vector<run::MemoryUse>& memory);
// "... is set, but changes nothing here", of each such field.
std::vector<std::string> set_in_vain(const experiment::Experiment& given);
void print_json(const base::Json& line);  // one NDJSON line on standard output

// What most verbs take: an experiment file, overrides, --json.
struct ExperimentArguments {
  std::string file;
  std::vector<std::string> overrides;
  bool json = false;

  void add_to(Verb& verb);
  std::string data_directory;  // where relative data paths start; empty: beside the file
  base::Result<std::filesystem::path> directory() const;
};

// The file read and overridden; what was read judged and resolved; both. All problems at once.
experiment::Checked<experiment::Experiment> load(const ExperimentArguments& arguments);
experiment::Checked<experiment::Resolved> resolve(const experiment::Experiment& given,
                                                  const ExperimentArguments& arguments);
experiment::Checked<experiment::Resolved> load_resolved(const ExperimentArguments& arguments);

// What `auto` is, and why: "auto is direct: 1.2 ms ..."; empty where the document names an
// algorithm.
std::string chosen_algorithm(const experiment::Resolved& resolved);
void add_chosen_algorithm(base::Json& result,
                          const experiment::Resolved& resolved);  // the same, where it does not

// On a virtual clock, by the drawn speeds: so many of its steps.
base::Result<sim::Outcome> simulate(const experiment::Resolved& resolved, std::int64_t steps);

// A line a rank.
void print_shards(const data::ShardTable& shards);
void print_columns(const experiment::Resolved&
                       resolved);  // the feature columns of each rank, where they are shared out

// The recording in a run directory; whatever keeps it from being read is bad input. Damage is
// warned of on standard error.
base::Result<telemetry::History> load_history(const std::string& run_directory);

}  // namespace trainyard::cli
