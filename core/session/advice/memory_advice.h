// SPDX-License-Identifier: GPL-3.0-or-later
// Memory advice: other settings for the same training on the same devices that fit into their
// memory.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/bind/memory_use.h"

namespace trainyard::session {

// These functions return the memory of the buffers of one rank, or of every rank, by rank number.
run::MemoryUse memory_of(const plan::Plan& plan, int rank);
std::vector<run::MemoryUse> memory_of(const plan::Plan& plan);

// Cost of a full step: seconds with devices and links as drawn, and payload bytes sent by all
// ranks. The bytes are -1 if an engine does not report them.
struct StepCost {
  double seconds = 0;
  std::int64_t wire_bytes = 0;
};
// Simulates a step and returns its cost; a Problem if the experiment cannot be simulated. Provided
// by the caller.
using CostOfStep = std::function<base::Result<StepCost>(const experiment::Resolved& experiment)>;

struct MemoryOption {
  std::vector<std::string> settings;  // In the form "PATH=VALUE" of `--set`.
  std::string other_cost;             // Cost other than time and bytes.
  // Largest memory that a rank needs with these settings, of the ranks whose devices lack memory
  // with the drawn settings.
  std::int64_t bytes = 0;
  std::optional<StepCost> step = std::nullopt;
};

// Returns settings that fit, the fastest first if `cost` is given. The global batch never changes.
// The function tries, in this order:
//
// - smaller micro-batches;
// - activation checkpointing (recompute);
// - offload of activations, of optimizer moments, or of both;
// - 16-bit precision;
// - sharding: fsdp, or among the replicas of a mesh;
// - model parallelism: pipeline, tensor or both, with as few devices per replica as possible;
// - for pipelines: a schedule that holds fewer activations, and a partition by memory.
//
// For each kind of option, returns the smallest change that fits. Every option is checked with its
// full plan, so the experiment fits if exactly these settings are applied. If no single option
// fits, tries pairs, then as many options together as possible. For very large models, where each
// try takes long, stops after a few seconds. If a step of the drawn experiment makes many updates
// (pipedream) and an option makes one, the option's text says so. Returns nothing if there are
// servers (parameter_server) or evaluators. `lacking`: by rank, the bytes that its device lacks
// (`excess_bytes` in memory_problems.h).
std::vector<MemoryOption> options_that_fit(const experiment::Resolved& experiment,
                                           const std::vector<std::int64_t>& lacking,
                                           const CostOfStep& cost = {});

}  // namespace trainyard::session
