// SPDX-License-Identifier: GPL-3.0-or-later
// Resolved experiment: an experiment in which every automatic choice is made. It is sent to ranks,
// hashed and recorded.
#pragma once

#include <filesystem>
#include <vector>

#include "core/data/sampler.h"
#include "core/data/shards.h"
#include "core/experiment/document.h"
#include "core/model/model.h"
#include "core/topology/network.h"

namespace trainyard::experiment {

// Note for the user on the value of a field.
struct Note {
  std::string field;  // path, such as "data.file"
  std::string text;
};

struct Resolved {
  // Document in which every `auto`, and every 0 that means automatic, is replaced by its value.
  // Data paths are absolute. Exception: run.transport remains `auto` if some ranks share a drawn
  // host. It then means shm within a host and zmq between hosts. If the engine is not `own`, a
  // transport of `auto` means that each rank is a process.
  Experiment document;
  data::DataSummary data;
  model::Model model;
  // Device of each rank, by rank number: workers first, then parameter servers if the strategy has
  // any, last an evaluator.
  std::vector<topology::DeviceId> ranks;
  std::vector<int> hosts;  // Host index of each rank.
  std::int64_t global_batch =
      0;  // Samples of an epoch's first step, over all ranks. No step has more.
  std::int64_t steps_per_epoch = 0;
  // Number of steps at the beginning of an epoch that have the same number of samples as the first
  // step.
  std::int64_t full_steps_per_epoch = 0;
  std::int64_t tail_samples =
      0;  // Total samples of the smaller steps at the end of an epoch; 0 if there are none.
  std::int64_t steps = 0;  // Steps of the run.
  // Number of training samples by rank and class. A rank's samples are those that it owns or, with
  // iid sharding, those that it gets in the first epoch. The coordinator counts them. Empty in old
  // recordings, and if there are too many iid samples to count.
  data::ShardTable shards;
  // Reason why `auto` chose the algorithm, in one line; empty if the user named an algorithm, or if
  // nothing is reduced.
  std::string algorithm_reason = {};
  int storage_rank =
      -1;  // Rank that keeps the variables and takes no samples (rank_duties.h); -1: none.

  // Notes on the data files. Not sent to ranks and not recorded.
  std::vector<Note> notes = {};

  std::int64_t first_step = 0;  // Steps already done by the run that this one resumes from.
  // Server updates already done by the run that this one resumes from.
  std::int64_t first_version = 0;

  // Number of parameter servers that answer requests of workers (servers.h). The ranks of servers
  // come after the ranks of workers. 0 for rpc, whose servers run in lockstep with all ranks.
  int servers = 0;
  // Number of evaluators, 0 or 1. An evaluator is the last rank. It does not train; it evaluates
  // checkpoints on held-out samples.
  int evaluators = 0;
  int chief = 0;  // Worker that writes the state that all ranks share (roles.h).

  int world() const { return static_cast<int>(ranks.size()); }
  int workers() const { return world() - servers - evaluators; }
  int trainers_and_servers() const { return world() - evaluators; }
  bool serves(int rank) const { return rank >= workers() && rank < trainers_and_servers(); }
  bool is_evaluator(int rank) const { return rank >= trainers_and_servers(); }
  const topology::Host& host_of(int rank) const {
    return document.topology.hosts[static_cast<std::size_t>(hosts[static_cast<std::size_t>(rank)])];
  }
  // True if the rank is on another machine than the coordinator's. Called by the coordinator.
  bool is_on_other_machine(int rank) const;
  data::Shares shares() const;
  std::pair<std::int64_t, std::int64_t> held_out(
      int rank) const;  // Held-out samples that the rank evaluates: {first, count}.
  bool on_rank_0() const {
    return document.strategy.kind == StrategyKind::data_parallel;
  }  // True if rank 0 has all samples, for training and evaluation.
};

// Returns the experiment with absolute data paths. Relative paths are relative to `directory`.
Experiment located(Experiment experiment, const std::filesystem::path& directory);

// Resolves the experiment. Fails with the first problem that `validate` finds.
base::Result<Resolved> resolve(const Experiment& experiment,
                               const std::filesystem::path& directory);

// Returns the number of evaluations on held-out samples in the full run.
std::int64_t count_evaluations(const Resolved& resolved);

// Returns the experiment reduced to its fastest computing device, with all other devices idle. The
// global batch is unchanged, so with iid sharding the reduced experiment trains on the same samples
// as the original one.
Resolved on_one_device(Resolved resolved);

// Returns the samples of each step. If ranks own samples, reads the labels; returns a Problem if
// the labels differ from those that were counted when the experiment was resolved.
base::Result<data::Sampler> sampler(const Resolved& resolved);

// Returns the JSON that the coordinator sends to ranks: document, data summary and shards. Ranks
// then agree on these without reading the data again.
base::Json to_json(const Resolved& resolved);
base::Result<Resolved> resolved_from_json(const base::Json& json);
// Reads the shards (samples by rank and class) from a recorded resolved experiment of any software
// version. Returns an empty table if there are none that can be read.
data::ShardTable shards_of(const base::Json& resolved);

// Returns the learning rate of `step` (from 0) of `steps`. During warm-up it is lr (step + 1) /
// warmup_steps, multiplied by the schedule's factor. The cosine schedule (Loshchilov and Hutter
// 2017) covers the steps after warm-up.
double learning_rate(const TrainingSpec& training, std::int64_t step, std::int64_t steps);

}  // namespace trainyard::experiment
