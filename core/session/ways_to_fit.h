// SPDX-License-Identifier: GPL-3.0-or-later
// Other ways to train the same, on the same devices, that these have room for.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/resolve.h"
#include "core/plan/plan.h"
#include "core/run/memory_use.h"

namespace trainyard::session {

// What the buffers of a rank take; and of all, by rank.
run::MemoryUse memory_of(const plan::Plan& plan, int rank);
std::vector<run::MemoryUse> memory_of(const plan::Plan& plan);

// Of a full step: its seconds as devices and links are drawn, and the payload that all ranks send;
// -1 where an engine does not say.
struct StepCost {
  double seconds = 0;
  std::int64_t wire_bytes = 0;
};
// The simulator's word, which whoever knows it hands in; a Problem where it cannot tell.
using CostOfStep = std::function<base::Result<StepCost>(const experiment::Resolved& experiment)>;

struct Way {
  std::vector<std::string> settings;  // "PATH=VALUE" each, as --set takes them
  std::string besides;                // what it costs besides time and bytes
  std::int64_t bytes =
      0;  // the most that the buffers of a rank take then whose device lacks room for what is drawn
  std::optional<StepCost> step = std::nullopt;
};

// Smaller micro-steps; outputs that are computed again, or put aside, and moments; 16 bits; a share
// of the model (fsdp, and among the replicas of a mesh); the model on several devices (some layers
// each, a part of each layer, or both, as few devices a replica as it takes); and of whoever does
// so already a schedule that holds less, layers shared out by memory. Of each the one that changes
// least, with its settings made and its plan laid out: whoever makes them, and changes nothing
// else, has room. Where none has room, two at once, else as many as go together. Of very large
// models, of which each try takes long, those of the first seconds. The global batch stays. The
// fastest first, where `cost` can tell. Where a step is many updates (pipedream) a way that makes
// one of them says so. None where servers answer out of step (parameter_server), or an evaluator is
// drawn. `lacking`: by rank, the bytes that its device lacks for what is drawn (lacking_bytes in
// room.h).
std::vector<Way> ways_to_fit(const experiment::Resolved& experiment,
                             const std::vector<std::int64_t>& lacking, const CostOfStep& cost = {});

}  // namespace trainyard::session
