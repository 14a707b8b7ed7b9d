// SPDX-License-Identifier: GPL-3.0-or-later
// Simulates a plan on a virtual clock. Its collectives must be expanded or assigned to an engine.
// Ops become ready by the plan's rule (plan::Frontier), devices have their drawn speed
// (rank_model.h), and messages share the drawn links (links.h). Deterministic: the same plan,
// drawing and options give the same events on every machine.
//
// Not modeled, and so not predicted: the interpreter's loop, acknowledgments (a send ends when its
// peer has consumed the message), back-pressure of full channels, input pipelines in the
// background, and process start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "core/run/input/row_counts.h"
#include "core/sim/watch.h"
#include "core/telemetry/event.h"
#include "core/topology/network.h"

namespace trainyard::sim {

enum class LanesPerThread {
  // One thread runs all lanes of a rank, as in run::Interpreter. An op or a reduction is never
  // preempted.
  all,
  // Likewise, but transfers and their reductions continue during compute ops, as in a paced run,
  // whose compute ops mostly wait for the time of the drawn device.
  paced,
  one,  // every lane has its own thread
};

struct Options {
  std::int64_t steps = 20;       // maximum number of simulated steps; the rest is extrapolated
  double launch_seconds = 2e-6;  // added to every input and compute op
  std::int64_t seed =
      0;  // seed of jitter; used with parameter servers, where jitter changes the order of events
  LanesPerThread lanes_per_thread = LanesPerThread::all;
  // Receives op events, and at the end of each step of a rank also metrics: step_, compute_,
  // transfer_, wait_ and input_seconds, and sent_ and received_payload_bytes per peer. Times are
  // virtual nanoseconds from 0, ascending for each rank. `ready` of an event is the time when the
  // last peer had sent. An idle rank counts as transferring while bytes travel to or from it, and
  // as waiting otherwise.
  std::function<void(int rank, const telemetry::Event&)> on_event;
  // function that returns the number of table rows that a worker pulls; empty: every worker pulls
  // the maximum number of rows
  run::RowCount row_count;
  Watch watch;
};

// Returns the number of steps to simulate if the user does not choose it: 20, or fewer if the ranks
// have more than 1.5 million ops in 20 steps together, but at least 8.
std::int64_t automatic_steps(const plan::Plan& plan);

struct WireBytes {
  int from = 0, to = 0;
  // Payload bytes from one rank to another in the first step. If ranks synchronize only every H
  // steps, it is the payload of a synchronizing step divided by H.
  std::int64_t step_bytes = 0;
  std::int64_t bytes = 0;  // payload in the full simulation
};

// Traffic on one direction of an edge (link or bus).
struct EdgeUse {
  topology::EdgeId edge;
  bool forward = true;
  std::int64_t step_bytes = 0;
  std::int64_t bytes = 0;
  double busy_fraction = 0;  // fraction of the simulated time with traffic
};

// Mean seconds per training step, by activity. The values of all activities add up to the time of a
// step.
struct RankUse {
  // Size of the rank's memory, computed with the same memory layout as in a real run.
  std::int64_t peak_memory_bytes = 0;
  std::int64_t memory_bytes = 0;  // memory that the device has
  double compute_seconds = 0;     // time in compute ops
  double input_seconds = 0;       // time for loading the batch
  double adding_seconds = 0;      // time for summing and copying received data
  double crossing_seconds = 0;    // idle time while bytes travel to or from the rank
  double waiting_seconds = 0;     // idle time while no bytes travel to or from the rank
  double idle_fraction = 0;       // (crossing_seconds + waiting_seconds) / step time
  double encoding_seconds = 0;    // part of compute_seconds: encoding and decoding in a full step
};

enum class BoundKind {
  device,   // the device's thread, or its busiest lane, needs this time
  edge,     // the bytes of a step need this time at full bandwidth of the edge
  latency,  // latencies of sequential messages
  engine,   // sequential collectives of an engine, computed by formula
};

// Lower bound of the time of a full step. It is the time that one resource needs if everything else
// overlaps perfectly. The comment of each member names the kinds of bounds that use the member.
struct Bound {
  BoundKind kind = BoundKind::device;
  double seconds = 0;
  int rank = -1;               // rank; for the kinds device, latency and engine
  topology::EdgeId edge = {};  // edge; for the kind edge
  // For bounds of the kind edge: true for a device's attachment to its host's bus, false for a
  // drawn link.
  bool bus = false;
  std::int64_t bytes = 0;  // edge: bytes in one direction per step
  double bandwidth_bits_per_second = 0;
  std::int64_t rounds = 0;  // number of rounds (latency) or of collectives (engine)
};

struct Outcome {
  std::int64_t steps = 0;            // simulated steps, from step 0
  std::vector<double> step_seconds;  // time of each step on the slowest rank
  double median_step_seconds = 0;    // median over full steps
  // Median time of the steps of a single rank. It exceeds median_step_seconds if each rank makes
  // its own steps, as with parameter servers.
  double local_step_seconds = 0;
  double first_step_seconds = 0;
  // Total time of the shorter steps at the end of an epoch; 0 if there are none.
  double tail_seconds = 0;
  double evaluation_seconds = 0;  // time of one evaluation; 0: there is none
  // Time of one average of the local parameters of all ranks; 0 if there is none.
  double average_seconds = 0;
  // Additional time of a step that averages the parameters after local steps; 0 if there is none.
  double synchronization_seconds = 0;
  double start_seconds = 0;      // time before the first step
  double end_seconds = 0;        // time after the last step and its evaluation
  double simulated_seconds = 0;  // total virtual time
  // engine that runs collectives; empty: none. An engine does not report bytes, so the bytes of its
  // collectives are not counted
  std::string engine;
  std::vector<WireBytes> wire;  // pairs of ranks with traffic, by sender and receiver
  std::vector<EdgeUse> edges;   // directions of edges with traffic
  std::vector<RankUse> ranks;
  // idle time divided by total time of all ranks, until the last rank completes its last step
  double bubble_fraction = 0;
  std::vector<Bound> bounds;  // the longest bound of each kind, ordered from the longest
  double mean_staleness = 0;  // mean staleness of gradients, with parameter servers
  std::string explain;        // the longest bound, as a sentence
  std::string fingerprint;    // 16 hex digits: xxh64 over all events in order
  // Predicted time of the full run, extrapolated from the simulated steps.
  double predicted_seconds = 0;
  // Time for the number of samples of a full step: the median step plus its share of an average. If
  // an epoch has several kinds of shorter steps, this is a mean over an epoch.
  double full_batch_seconds = 0;
  double predicted_samples_per_second = 0;  // derived from full_batch_seconds
  std::int64_t predicted_wire_bytes = 0;    // payload of the full run, of all ranks

  std::int64_t step_wire_bytes() const;  // payload of a full step, all ranks
};

// Returns the virtual time in seconds from the start to the end of `step` (from 0), computed from
// the times in the outcome. An average or evaluation after the step is not included.
double seconds_until(std::int64_t step, const Outcome& outcome, const plan::Schedule& schedule);

// Simulates a plan. Rank r runs on the network's r-th worker; ranks after the workers run on its
// parameter servers. Problems: a collective that is neither expanded nor assigned to an engine,
// more ranks than workers, no route, mismatched messages, a deadlock (the message names its ranks
// and ops), a virtual time over 46 days, and cancellation.
base::Result<Outcome> simulate(const plan::Plan& plan, const topology::Network& network,
                               const Options& options = {});

}  // namespace trainyard::sim
