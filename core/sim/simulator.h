// SPDX-License-Identifier: GPL-3.0-or-later
// Runs a plan, expanded or handed to an engine, on a virtual clock: ranks follow the plan's one
// readiness rule (plan::Frontier), devices take the time that their drawn speed says
// (rank_model.h), messages share the drawn links (links.h). Deterministic: the same plan, drawing
// and options give the same events, on every machine.
//
// What it takes as free, and so does not predict: the loop of the interpreter, acknowledgements (a
// send is over when its peer has consumed the message), the back-pressure of a full channel, the
// background input pipeline, and starting the processes.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/row_counts.h"
#include "core/telemetry/event.h"
#include "core/topology/network.h"

namespace trainyard::sim {

enum class LanesPerThread {
  all,  // one thread runs all lanes of a rank, as the interpreter does: an op, or the adding of
        // what arrived, runs to its end
  one,  // every lane has an engine of its own
};

struct Options {
  std::int64_t steps = 20;       // simulated at most; the rest is predicted from them
  double launch_seconds = 2e-6;  // added to every input and compute op
  std::int64_t seed =
      0;  // of jitter, where who comes before whom depends on it: with parameter servers
  LanesPerThread lanes_per_thread = LanesPerThread::all;
  // Op events, and at the end of a rank's step its metrics step_, compute_, transfer_, wait_ and
  // input_seconds and per peer sent_ and received_payload_bytes; virtual nanoseconds from 0, each
  // rank's in order of time. An event's `ready` is when the last of the peers had sent. While a
  // rank is idle, it transfers when bytes are on their way to or from it, else it waits.
  std::function<void(int rank, const telemetry::Event&)> on_event;
  run::RowCount row_count;  // of rows of tables that workers name; empty: as many as lists can hold
  std::stop_token stop;  // asked for when nobody waits for the outcome any more: ends soon, with a
                         // Problem that says cancelled
};

struct WireBytes {
  int from = 0, to = 0;
  std::int64_t step_bytes = 0;  // payload of the first step; where ranks meet after every H-th step
                                // alone, of such a one / H
  std::int64_t bytes = 0;       // of all that was simulated
};

// One way of one edge.
struct EdgeUse {
  topology::EdgeId edge;
  bool forward = true;
  std::int64_t step_bytes = 0;
  std::int64_t bytes = 0;
  double busy_fraction = 0;  // of the simulated time: something crossed it
};

// Seconds are means over the training steps, and add up to the step: what a rank did, or what kept
// it idle.
struct RankUse {
  std::int64_t peak_memory_bytes = 0;  // arenas, as real ranks lay them out
  std::int64_t memory_bytes = 0;       // of the device
  double compute_seconds = 0;          // in compute ops
  double input_seconds = 0;            // loading the batch
  double adding_seconds = 0;           // adding up and copying what arrived
  double crossing_seconds = 0;         // idle, with bytes on their way to or from it
  double waiting_seconds = 0;          // idle, with nothing on its way
  double idle_fraction = 0;            // (crossing + waiting) / step
  double encoding_seconds = 0;  // of compute: encoding what is sent of a full step, and decoding it
};

enum class BoundKind {
  device,   // its one thread, or its busiest lane, is never done sooner
  edge,     // the bytes of a step need as long at full bandwidth
  latency,  // messages that go one after another
  engine,   // collectives that an engine takes whole, one after another, by formula
};

// The term that takes longest in a full step, however well everything overlaps.
struct Bound {
  BoundKind kind = BoundKind::device;
  double seconds = 0;
  int rank = -1;               // device, latency, engine
  topology::EdgeId edge = {};  // edge
  bool bus = false;            // edge: a device's attachment to its host's bus, not a drawn link
  std::int64_t bytes = 0;      // edge: that cross it one way in a step
  double bandwidth_bits_per_second = 0;
  std::int64_t rounds = 0;  // latency; engine: collectives
};

struct Outcome {
  std::int64_t steps = 0;            // simulated, from step 0
  std::vector<double> step_seconds;  // by step, of the slowest rank
  double median_step_seconds = 0;    // of the full steps
  double own_step_seconds = 0;  // median of a rank's own full steps: the same, but where ranks make
                                // steps apart, as with parameter servers, longer
  double first_step_seconds = 0;
  double tail_seconds = 0;        // the shorter steps that end an epoch, together; 0: there is none
  double evaluation_seconds = 0;  // one evaluation; 0: there is none
  double average_seconds =
      0;  // one average of all ranks' parameters, where each has its own; 0: there is none
  double meeting_seconds = 0;    // what a step takes longer that ends several local ones, and by
                                 // which all average parameters; 0: there is none
  double start_seconds = 0;      // before the first step
  double end_seconds = 0;        // after the last step, and what is evaluated there
  double simulated_seconds = 0;  // all of it
  std::string engine;  // that takes collectives whole; empty: none. What it sends is not reported:
                       // no bytes are counted
  std::vector<WireBytes> wire;  // pairs that talk, by from and to
  std::vector<EdgeUse> edges;   // ways that were used
  std::vector<RankUse> ranks;
  double bubble_fraction =
      0;  // idle time of all ranks / their time, until the last of them has made its last step
  std::vector<Bound> bounds;  // the longest of each kind, the longest first
  double mean_staleness = 0;  // of gradients, with parameter servers
  std::string explain;        // the first of them, as a sentence
  std::string fingerprint;    // 16 hex digits: xxh64 over all events in order
  // Of the whole run, from the above.
  double predicted_seconds = 0;
  // For as many samples as a full step has: the median and its part of a meeting, or where an epoch
  // has several tails, their mean over it.
  double full_batch_seconds = 0;
  double predicted_samples_per_second = 0;  // by that
  std::int64_t predicted_wire_bytes = 0;    // payload, all ranks

  std::int64_t step_wire_bytes() const;  // payload of a full step, all ranks
};

// Virtual seconds from the start to the end of `step` (from 0), by the outcome's full step, tails
// and evaluations; that which may follow the step is not in them.
double seconds_until(std::int64_t step, const Outcome& outcome, const plan::Schedule& schedule);

// Rank r runs on the network's r-th worker, or after these on its parameter servers. Problems: a
// collective that is neither expanded nor handed to an engine, more ranks than workers, no route,
// messages that do not match, ranks that wait for each other for ever (named, with their ops), a
// virtual time of more than 46 days; cancelled.
base::Result<Outcome> simulate(const plan::Plan& plan, const topology::Network& network,
                               const Options& options = {});

}  // namespace trainyard::sim
