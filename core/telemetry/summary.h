// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of a run for its result line, computed from its recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// Totals of one rank. Its bytes are the sum of the last sampled counters of all peers.
struct RankSummary {
  int rank = 0;
  double samples = 0;          // Trained samples whose gradients became part of an update.
  double dropped_samples = 0;  // Samples in gradients that arrived too late and had no effect.
  double sent_payload_bytes = 0,
         // Totals over all processes that this rank has had, if it was restarted.
      sent_header_bytes = 0;
  double received_payload_bytes = 0, received_header_bytes = 0;
  // Bytes counted by earlier processes of the rank, before its restarts.
  double sent_payload_before = 0, sent_header_before = 0, received_payload_before = 0,
         received_header_before = 0;
  double peak_memory_bytes = 0;  // Largest logged resident set size.
  double dropped_events = 0;     // Events of this rank that are missing in the recording.
};

struct StepSeconds {
  double median = 0;  // Mean of the two middle times if the count is even.
  // 95th percentile by nearest rank: the smallest logged time that 95 % of the times do not exceed.
  double p95 = 0;
};
StepSeconds quantiles(std::vector<double> times);  // Requires at least one time.

struct Summary {
  std::int64_t steps = 0;      // Number of steps that every rank involved has finished.
  double samples = 0;          // Sum over all ranks.
  double dropped_samples = 0;  // Sum over all ranks.
  double wall_seconds = 0;  // From the start of the first step to the end of the last, on any rank.
  // Throughput of all ranks, over the time in which any rank was in a step. Evaluations and pauses
  // do not count.
  double samples_per_second = 0;
  std::optional<StepSeconds>
      step_seconds;  // Times of the slowest rank of each step; unset if no step was finished.
  std::optional<double> train_loss;           // Training loss of the last step, over all ranks.
  std::optional<std::int64_t> diverged_step;  // First step whose training loss is not finite.
  std::optional<BadGradients> bad_gradients;
  std::optional<double> held_out_loss;      // Loss at the last evaluation.
  std::optional<double> held_out_accuracy;  // Accuracy at the last evaluation.
  std::vector<RankSummary> ranks;           // By rank.
};

Summary summarize(const History& history);

// Current loss scale, and the number of steps that changed no weight because the scale was too
// large. Such steps are expected, because the scale is found by trying.
struct LossScale {
  double last = 1;
  std::int64_t steps_without_update = 0;
};
std::optional<LossScale> loss_scale(const History& history);
std::string words(const LossScale& scale);  // Returns one line for the user.

// True for asynchronous gossip, in which each rank executes steps at its own speed. It is detected
// as soon as one rank has averaged with another.
bool is_asynchronous_gossip(const History& history);

std::string words(const BadGradients& bad);  // Returns one sentence for the user.
std::string words(
    const Fault& fault);  // "rank 2 failed at 12.3 s, step 1,234: ended by signal 9 (Killed)"
// Reads a fault from a run's result. Values that are absent or invalid have their defaults.
Fault fault_from(const base::Json& json);

// Returns what a thinned recording lacks, as the end of a sentence: "thinned from step 2,832 on
// ...".
std::string thinning_text(const RecordedThinning& thinning);

// Returns the message that the training loss is not finite from step `step` on.
std::string divergence(std::int64_t step);

}  // namespace trainyard::telemetry
