// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of a run for its result line, computed from the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// Totals of one rank. Bytes are counters sampled by the transport: the last sample of each peer,
// summed over peers.
struct RankSummary {
  int rank = 0;
  double samples = 0;          // Trained samples, in gradients that became part of an update.
  double dropped_samples = 0;  // Samples in gradients that arrived too late and had no effect.
  double sent_payload_bytes = 0,
         sent_header_bytes = 0;  // Total of all processes that this rank has had.
  double received_payload_bytes = 0, received_header_bytes = 0;
  double sent_payload_before = 0, sent_header_before = 0, received_payload_before = 0,
         received_header_before = 0;  // Total of all these processes except the last.
  double peak_memory_bytes = 0;       // Largest logged resident set.
  double dropped_events = 0;          // Events of this rank that are missing in the recording.
};

struct StepSeconds {
  double median = 0;  // Mean of the middle two if the count is even.
  // Nearest-rank percentile: the smallest logged time that 95 % of them do not exceed.
  double p95 = 0;
};
StepSeconds quantiles(std::vector<double> times);  // Needs at least one time.

struct Summary {
  std::int64_t steps = 0;      // Steps finished by every rank involved.
  double samples = 0;          // Over all ranks.
  double dropped_samples = 0;  // Over all ranks.
  double wall_seconds = 0;  // From the begin of the first step to the end of the last, on any rank.
  // Throughput of all ranks, over the time in which any rank was in a step. Evaluations and pauses
  // do not count.
  double samples_per_second = 0;
  std::optional<StepSeconds>
      step_seconds;  // Time of a step's slowest rank; nothing if no step was finished.
  std::optional<double> train_loss;           // Training loss of the last step, over all ranks.
  std::optional<std::int64_t> diverged_step;  // First step whose training loss is not finite.
  std::optional<BadGradients> bad_gradients;
  std::optional<double> held_out_loss;      // The last value.
  std::optional<double> held_out_accuracy;  // The last value.
  std::vector<RankSummary> ranks;           // By rank.
};

Summary summarize(const History& history);

// Current loss scale, and the number of steps that changed no weight because the scale was too
// large. Such steps are expected: they are how the scale is found.
struct LossScale {
  double last = 1;
  std::int64_t steps_without_update = 0;
};
std::optional<LossScale> loss_scale(const History& history);
std::string words(const LossScale& scale);  // One line for the user.

// True for asynchronous gossip: ranks make every step, but at their own speeds. Known once one rank
// has averaged with another.
bool is_asynchronous_gossip(const History& history);

std::string words(const BadGradients& bad);  // One sentence for the user.
std::string words(
    const Fault& fault);  // "rank 2 lost at 12.3 s, step 1,234: ended by signal 9 (Killed)"
Fault fault_from(const base::Json& json);  // Reads a fault from a run's result.

// First step whose training loss over all ranks is not finite, and a message about it in one
// sentence.
std::optional<std::int64_t> diverged_step(const History& history);
std::string divergence(std::int64_t step);

}  // namespace trainyard::telemetry
