// SPDX-License-Identifier: GPL-3.0-or-later
// Simulates a plan, expanded or assigned to an engine, on a virtual clock. Ranks follow the plan's
// readiness rule (plan::Frontier), devices take the time of their drawn speed (rank_model.h), and
// messages share the drawn links (links.h). Deterministic: the same plan, drawing and options give
// the same events on every machine.
//
// Not modeled, and so not predicted: the interpreter's loop, acknowledgments (a send ends when its
// peer has consumed the message), back-pressure of full channels, the background input pipeline,
// and process start.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/input/row_counts.h"
#include "core/telemetry/event.h"
#include "core/topology/network.h"

namespace trainyard::sim {

enum class LanesPerThread {
  // one thread runs all lanes of a rank, like the interpreter: ops and reductions are not preempted
  all,
  one,  // every lane has its own engine
};

struct Options {
  std::int64_t steps = 20;       // maximum number of simulated steps; the rest is extrapolated
  double launch_seconds = 2e-6;  // added to every input and compute op
  std::int64_t seed =
      0;  // seed of jitter, if the order of events depends on it: with parameter servers
  LanesPerThread lanes_per_thread = LanesPerThread::all;
  // Receives op events and, at the end of a rank's step, its metrics step_, compute_, transfer_,
  // wait_ and input_seconds, and sent_ and received_payload_bytes per peer. Times are virtual
  // nanoseconds from 0, in order for each rank. An event's `ready` is the time when the last peer
  // had sent. An idle rank counts as transferring while bytes travel to or from it, else as
  // waiting.
  std::function<void(int rank, const telemetry::Event&)> on_event;
  // number of table rows that workers name; empty: the maximum of each list
  run::RowCount row_count;
  std::stop_token stop;  // if requested, the simulation ends soon with a Problem `canceled`
};

struct WireBytes {
  int from = 0, to = 0;
  // payload of the first step; if ranks synchronize every H steps, that of a synchronizing step / H
  std::int64_t step_bytes = 0;
  std::int64_t bytes = 0;  // in the full simulation
};

// Use of one direction of an edge.
struct EdgeUse {
  topology::EdgeId edge;
  bool forward = true;
  std::int64_t step_bytes = 0;
  std::int64_t bytes = 0;
  double busy_fraction = 0;  // fraction of the simulated time with traffic
};

// Mean seconds per training step, by activity; they add up to the step.
struct RankUse {
  std::int64_t peak_memory_bytes = 0;  // arenas, with the layout of real ranks
  std::int64_t memory_bytes = 0;       // memory of the device
  double compute_seconds = 0;          // in compute ops
  double input_seconds = 0;            // loading the batch
  double adding_seconds = 0;           // summing and copying received data
  double crossing_seconds = 0;         // idle while bytes travel to or from it
  double waiting_seconds = 0;          // idle otherwise
  double idle_fraction = 0;            // (crossing + waiting) / step
  double encoding_seconds = 0;         // part of compute: encoding and decoding in a full step
};

enum class BoundKind {
  device,   // its single thread, or its busiest lane, needs this long
  edge,     // the bytes of a step need this long at full bandwidth
  latency,  // sequential messages
  engine,   // sequential collectives of an engine, by formula
};

// Lower bound of a full step from one resource, assuming perfect overlap.
struct Bound {
  BoundKind kind = BoundKind::device;
  double seconds = 0;
  int rank = -1;               // device, latency, engine
  topology::EdgeId edge = {};  // edge
  bool bus = false;            // edge: a device's attachment to its host's bus, not a drawn link
  std::int64_t bytes = 0;      // edge: bytes in one direction per step
  double bandwidth_bits_per_second = 0;
  std::int64_t rounds = 0;  // latency: rounds; engine: collectives
};

struct Outcome {
  std::int64_t steps = 0;            // simulated steps, from step 0
  std::vector<double> step_seconds;  // by step, of the slowest rank
  double median_step_seconds = 0;    // of full steps
  // median of a rank's own full steps; longer than median_step_seconds if ranks have separate
  // steps, as with parameter servers
  double local_step_seconds = 0;
  double first_step_seconds = 0;
  double tail_seconds = 0;        // total of the shorter steps at the end of an epoch; 0: none
  double evaluation_seconds = 0;  // one evaluation; 0: none
  double average_seconds = 0;     // one average of all ranks' local parameters; 0: none
  // additional time of a step that ends local steps and averages the parameters; 0: none
  double synchronization_seconds = 0;
  double start_seconds = 0;      // before the first step
  double end_seconds = 0;        // after the last step and its evaluation
  double simulated_seconds = 0;  // total
  // engine that runs collectives; empty: none. Its bytes are not reported, so they are not counted
  std::string engine;
  std::vector<WireBytes> wire;  // pairs with traffic, by from and to
  std::vector<EdgeUse> edges;   // directions with traffic
  std::vector<RankUse> ranks;
  // idle time of all ranks / total time of all ranks, until the last one completes its last step
  double bubble_fraction = 0;
  std::vector<Bound> bounds;  // the longest of each kind, the longest first
  double mean_staleness = 0;  // of gradients, with parameter servers
  std::string explain;        // the longest bound, as a sentence
  std::string fingerprint;    // 16 hex digits: xxh64 over all events in order
  // Predicted time of the full run, extrapolated from the values above.
  double predicted_seconds = 0;
  // For as many samples as a full step has: the median plus its share of an average, or the mean
  // over an epoch with several tails.
  double full_batch_seconds = 0;
  double predicted_samples_per_second = 0;  // from full_batch_seconds
  std::int64_t predicted_wire_bytes = 0;    // payload, all ranks

  std::int64_t step_wire_bytes() const;  // payload of a full step, all ranks
};

// Returns the virtual seconds from the start to the end of `step` (from 0), computed from the
// outcome's full step, tails and evaluations; an average or evaluation after the step is not
// included.
double seconds_until(std::int64_t step, const Outcome& outcome, const plan::Schedule& schedule);

// Simulates a plan. Rank r runs on the network's r-th worker or, after the workers, on its
// parameter servers. Problems: a collective that is neither expanded nor assigned to an engine,
// more ranks than workers, no route, mismatched messages, a deadlock (with its ranks and ops), a
// virtual time over 46 days, cancellation.
base::Result<Outcome> simulate(const plan::Plan& plan, const topology::Network& network,
                               const Options& options = {});

}  // namespace trainyard::sim
