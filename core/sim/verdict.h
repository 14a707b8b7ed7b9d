// SPDX-License-Identifier: GPL-3.0-or-later
// Verdict whether a drawing is faster than one device that processes the same global batch.
#pragma once

#include "core/sim/simulator.h"

namespace trainyard::sim {

// Main cause because of which the plan is not faster than one device.
enum class VerdictCause {
  none,       // the plan is faster, or has only one device
  memory,     // the plan, or the model on one device, exceeds the memory
  transfer,   // bandwidth of a link or bus
  latency,    // latency of sequential messages
  engine,     // collectives of an engine
  reduction,  // adding received data
  encoding,   // encoding and decoding gradients
  samples,    // ranks run out of samples
  straggler,  // all ranks wait for the slowest one
};

struct Verdict {
  int ranks = 1;
  double one_device_seconds = 0,
         step_seconds = 0;  // time for a full global batch: Outcome::full_batch_seconds
  double speedup = 1;       // one_device_seconds / step_seconds; above 1 the plan is faster
  VerdictCause cause = VerdictCause::none;
  std::string sentence;  // "one device would be 1.8x faster here, because ..."; without a period
  double efficiency() const { return speedup / ranks; }
};

// Compares two outcomes for the same global batch: the outcome of the plan, and the outcome of one
// device.
Verdict judge(const Outcome& plan, const Outcome& one_device);

// Simulates the plan and one device, and compares them.
base::Result<Verdict> judge(const plan::Plan& expanded_plan, const topology::Network& network,
                            const plan::Plan& one_device, const topology::Network& of_one_device,
                            const Options& options = {});

}  // namespace trainyard::sim
