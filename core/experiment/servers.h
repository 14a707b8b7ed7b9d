// SPDX-License-Identifier: GPL-3.0-or-later
// Of parameter_server: which device keeps what, how many gradients make an update, and what the
// strategy asks of the drawing and the document. Workers are the first ranks, in drawing order;
// servers come after them, also in drawing order, and last the evaluator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"

namespace trainyard::experiment {

bool has_servers(StrategyKind kind);

// Workers take their samples in step, each its part of a global batch; else whoever asks takes the
// next batch.
bool in_step(const ServerSpec& servers);

// Ranks whose samples make a step: all that take some, but of workers who are out of step one, as
// of ranks that every sample passes.
std::int64_t ranks_of_step(const Experiment& experiment);

// λ workers: 1, λ, floor(λ / n) or λ - b.
int gradients_per_update(const ServerSpec& servers, int workers);

// Of softsync whose n does not divide the workers, for a person: how many gradients an update takes
// after all, and what other mode that is.
std::optional<std::string> softsync_said(const Experiment& experiment);

// What is to be said of run.restarts where nobody is started again; nothing where it holds.
std::optional<std::string> restarts_said(const Experiment& experiment);

// Of workers that take their turns apart, where steps have a pace: that it is kept by giving one
// turn at a time, for a person.
std::optional<std::string> paced_turns_said(const Experiment& experiment, double seconds_per_step);

// Workers without which no update is made: those of a gradient each in step, else one.
int least_workers(const ServerSpec& servers, int workers);

// Each its own; else they are threads of one, or all in one thread.
bool ranks_are_processes(const RunSpec& run);

// Whether training goes on without one such rank: a worker, as there are others for it, or an
// evaluator. Not where ranks are threads of one process, which dies whole.
bool may_be_lost(const Resolved& experiment, int rank);

// What is known of the staleness of gradients before they are computed, of λ workers whose push and
// next pull are one. Nothing where it depends on speeds.
//   asynchronous       mean λ - 1, whatever the speeds (each update is followed by those of all others, once round)
//   softsync           mean n (1 - 1/λ), where n divides λ (Zhang, Gupta, Lian, Liu 2016)
//   stale_synchronous  never more than (2s + 1)(λ - 1) (Ho et al. 2013: in clocks s; a round of all others on both sides)
//   the others         0
struct StalenessTheory {
  std::optional<double> mean;
  std::optional<std::int64_t> most;
  std::string words;  // the formula, as "λ - 1"
};
StalenessTheory staleness_theory(const ServerSpec& servers, int workers);
// Of a resolved experiment: that of its servers, or of stages that update after every micro-batch.
// Nothing where no gradient is stale.
std::optional<StalenessTheory> staleness_theory(const Resolved& experiment);

// Elements [first, first + count) of the flat parameters lie on the server number `server`, from 0.
struct Share {
  int server = 0;
  std::int64_t first = 0, count = 0;
  int table = -1;  // the segment whose table it is a part of, in whole rows, where workers take but
                   // the rows that they name; -1: they take all
  bool operator==(const Share&) const = default;
};

// All parameters, in their order, each once; neighbours on one server together, but cut where
// buckets end, unless that makes more than kMostShares. A table of which workers take rows is apart
// from all else, and no row is cut.
inline constexpr int kMostShares = 48;
std::vector<Share> shares_of_servers(const Resolved& experiment);

// Of runs that write checkpoints while they train, or go on from one.
base::Problems checkpoint_problems(const Experiment& experiment);

// Of variables that are placed by hand: those that `model` does not have, and servers that are not
// drawn.
base::Problems place_problems(const Experiment& experiment, const model::Model& model);

// What is missing or cannot be done, of a drawing that is sound and has workers.
base::Problems server_problems(const Experiment& experiment);

}  // namespace trainyard::experiment
