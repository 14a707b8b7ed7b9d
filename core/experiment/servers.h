// SPDX-License-Identifier: GPL-3.0-or-later
// Strategy parameter_server: which server keeps which variables, how many gradients make an update,
// and the strategy's requirements on drawing and document. Ranks are numbered workers first, then
// servers, both in drawing order, and last the evaluator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

bool has_servers(StrategyKind kind);

// True if workers take samples in lockstep: in each round every worker takes its part of one global
// batch. Otherwise a worker gets the next batch whenever it requests one.
bool is_lockstep(const ServerSpec& servers);

// Returns the number of ranks whose samples together make a step: all ranks that take samples. If
// the model is split, each replica counts once. With asynchronous workers the number is 1.
std::int64_t ranks_of_step(const Experiment& experiment);

// Returns the number of gradients per update for λ workers, by mode: 1, λ, floor(λ / n) or λ - b.
int gradients_per_update(const ServerSpec& servers, int workers);

// Returns a message if mode is softsync and n does not divide the number of workers. The message
// says how many gradients an update takes, and which other setting has the same effect.
std::optional<std::string> softsync_line(const Experiment& experiment);

// Returns a message if run.restarts is set but has no effect; otherwise nothing.
std::optional<std::string> unused_restarts_line(const Experiment& experiment);

// Returns a message if asynchronous workers have a minimum step time: workers then take turns, one
// at a time.
std::optional<std::string> paced_turns_note(const Experiment& experiment, double seconds_per_step);

// Returns the minimum number of workers with which training can continue: the number of gradients
// per update if workers run in lockstep, else one.
int min_workers(const ServerSpec& servers, int workers);

// True if each rank is a separate process. Otherwise ranks are threads of one process, or all ranks
// are in one thread.
bool ranks_are_processes(const RunSpec& run);

// True if training continues without this rank: a worker if enough others are left, or an
// evaluator. False if ranks are threads of one process, which fail together.
bool is_loss_allowed(const Resolved& experiment, int rank);

// Expected staleness of gradients of λ workers, if a worker's push and its next pull are one
// request. A value that depends on the speeds of workers is not set.
//
// asynchronous       mean λ - 1 at any speeds (between two updates of a worker, each other
//                    worker's gradient is applied, on average once)
// softsync           mean n (1 - 1/λ), if n divides λ (Zhang, Gupta, Lian, Liu 2016)
// stale_synchronous  at most (2s + 1)(λ - 1) (Ho et al. 2013: in clocks s; one more round
//                    of all others on both sides)
// other modes        0
struct StalenessTheory {
  std::optional<double> mean;
  std::optional<std::int64_t> most;
  std::string words;  // Formula as text, for example "λ - 1".
};
StalenessTheory staleness_theory(const ServerSpec& servers, int workers);
// Returns the expected staleness for the experiment's servers, or for stages that update after
// every micro-batch. Returns nothing if no gradient is stale.
std::optional<StalenessTheory> staleness_theory(const Resolved& experiment);

// Range of the flat parameters that one server keeps: elements [first, first + count) on server
// number `server` (from 0).
struct Share {
  int server = 0;
  std::int64_t first = 0, count = 0;
  // Index of the segment whose table rows this share contains, if workers pull only the rows that
  // they look up. -1: workers pull the full share.
  int table = -1;
  bool operator==(const Share&) const = default;
};

// Returns shares that cover all parameters once, in order. Adjacent ranges on one server are
// merged, then split at bucket boundaries unless that makes more than kMaxShares. A table whose
// rows are pulled has separate shares, and no row is split.
inline constexpr int kMaxShares = 48;
std::vector<Share> shares_of_servers(const Resolved& experiment);

// Returns problems of runs that checkpoint during training, or that resume from a checkpoint.
base::Problems checkpoint_problems(const Experiment& experiment);

// Returns problems of variables placed by hand: unknown variables, and servers that are not drawn.
base::Problems place_problems(const Experiment& experiment, const model::Model& model);

// Returns problems of servers in a valid drawing that has workers.
base::Problems server_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
