// SPDX-License-Identifier: GPL-3.0-or-later
// A resolved experiment: nothing left to choose. It is what is sent to ranks, hashed and recorded.
#pragma once

#include <filesystem>
#include <vector>

#include "core/data/sampler.h"
#include "core/data/shards.h"
#include "core/experiment/document.h"
#include "core/model/model.h"
#include "core/topology/network.h"

namespace trainyard::experiment {

struct Resolved {
  // Every `auto` and every 0-means-automatic replaced by its value, data paths absolute. One `auto`
  // stays: a transport where some ranks share a drawn host and some do not; it says shm within a
  // host and zmq between hosts. Beside another engine it says that ranks are processes.
  Experiment document;
  data::DataSummary data;
  model::Model model;
  std::vector<topology::DeviceId> ranks;  // rank -> device of the drawing: workers, after them
                                          // servers where the strategy has any, last an evaluator
  std::vector<int> hosts;                 // rank -> index of its host
  std::int64_t global_batch =
      0;  // samples of an epoch's first step over all ranks; no other has more
  std::int64_t steps_per_epoch = 0;
  std::int64_t full_steps_per_epoch = 0;  // as large as the first
  std::int64_t tail_samples =
      0;                   // of the shorter steps that end an epoch, together; 0: there are none
  std::int64_t steps = 0;  // of the whole run
  // Samples to train on by rank and class: those that each rank owns, or of iid sharding those that
  // the first epoch deals to it. Counted by the coordinator. Empty where iid samples are too many
  // to be worth counting, and in what was recorded before there was a choice.
  data::ShardTable shards;
  std::string algorithm_reason = {};  // why `auto` became the algorithm that it did, in one line;
                                      // empty where the user named one, or nothing is reduced
  int storage_rank =
      -1;  // keeps the variables of all and takes no samples (duties.h); -1: there is none

  std::int64_t first_step =
      0;  // steps that are done already, of a run that goes on from a checkpoint
  std::int64_t first_version = 0;  // updates of servers likewise

  int servers = 0;  // ranks that keep variables for the workers, and answer when these ask, after
                    // these (servers.h); those of rpc work in step with all
  int evaluators = 0;  // ranks that train nothing, and measure held-out samples by checkpoints: the
                       // last one, or none
  int chief = 0;       // the worker that writes what all have alike (roles.h)

  int world() const { return static_cast<int>(ranks.size()); }
  int workers() const { return world() - servers - evaluators; }
  int trainers_and_servers() const { return world() - evaluators; }
  bool serves(int rank) const { return rank >= workers() && rank < trainers_and_servers(); }
  bool evaluates_alone(int rank) const { return rank >= trainers_and_servers(); }
  data::Shares shares() const;
  std::pair<std::int64_t, std::int64_t> held_out(
      int rank) const;  // of the held-out samples those that it evaluates: {first, count}
  bool on_rank_0() const {
    return document.strategy.kind == StrategyKind::data_parallel;
  }  // the samples of all, and what is evaluated
};

// With its data paths absolute; relative ones start at `directory`.
Experiment located(Experiment experiment, const std::filesystem::path& directory);

// Fails with the first problem that `validate` finds.
base::Result<Resolved> resolve(const Experiment& experiment,
                               const std::filesystem::path& directory);

// How often the run evaluates.
std::int64_t count_evaluations(const Resolved& resolved);

// The same training on the fastest device that computes, the others idle: the same global batch, so
// that with iid sharding both learn the same.
Resolved on_one_device(Resolved resolved);

// Which samples each step takes. Reads the labels where ranks own samples; a Problem where those
// are others than were counted.
base::Result<data::Sampler> sampler(const Resolved& resolved);

// As the coordinator sends it: the document, the data summary and the shards, so that ranks agree
// without looking again.
base::Json to_json(const Resolved& resolved);
base::Result<Resolved> resolved_from_json(const base::Json& json);
// Of a resolved experiment as it was recorded, whatever software wrote it: its shards; empty where
// it says none that can be read.
data::ShardTable shards_of(const base::Json& resolved);

// Learning rate of `step` (from 0) of `steps`. Warm-up: lr (step + 1) / warmup_steps while step <
// warmup_steps, times the schedule. Cosine: Loshchilov and Hutter 2017, over the steps after the
// warm-up.
double learning_rate(const TrainingSpec& training, std::int64_t step, std::int64_t steps);

}  // namespace trainyard::experiment
