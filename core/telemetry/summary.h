// SPDX-License-Identifier: GPL-3.0-or-later
// The figures of a run that its result line needs, computed from what was logged.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/telemetry/history.h"

namespace trainyard::telemetry {

// Totals of one rank. Bytes are counters sampled by the transport: the last sample of each peer,
// added up over peers.
struct RankSummary {
  int rank = 0;
  double samples = 0;          // that it trained on, in gradients that became part of an update
  double dropped_samples = 0;  // in those that came too late, and changed nothing
  double sent_payload_bytes = 0,
         sent_header_bytes = 0;  // of all processes that took its place, one after the other
  double received_payload_bytes = 0, received_header_bytes = 0;
  double sent_payload_before = 0, sent_header_before = 0, received_payload_before = 0,
         received_header_before = 0;  // of all but the last of these
  double peak_memory_bytes = 0;       // the largest resident set that was logged
  double dropped_events = 0;          // events of this rank that are not in the recording
};

struct StepSeconds {
  double median = 0;  // the mean of the middle two when the count is even
  double p95 = 0;  // nearest rank: the smallest of the logged times that 95 % of them do not exceed
};
StepSeconds quantiles(std::vector<double> times);  // of one time at least

struct Summary {
  std::int64_t steps = 0;      // that every rank which does them has finished
  double samples = 0;          // over all ranks, as theirs
  double dropped_samples = 0;  // likewise
  double wall_seconds = 0;  // from the begin of the first step to the end of the last, on any rank
  double samples_per_second = 0;  // of all ranks, over the time in which any of them was in a step:
                                  // held-out passes and pauses do not count
  std::optional<StepSeconds>
      step_seconds;                  // of a step's slowest rank; nothing when no step was finished
  std::optional<double> train_loss;  // of the last step, over all ranks
  std::optional<std::int64_t>
      diverged_step;  // the first whose training loss is infinite or not a number
  std::optional<BadGradients> bad_gradients;
  std::optional<double> held_out_loss;      // the last
  std::optional<double> held_out_accuracy;  // the last
  std::vector<RankSummary> ranks;           // by rank
};

Summary summarize(const History& history);

// By what the loss is multiplied now, where 16 bits are not enough for small gradients, and how
// many steps changed no weight because that was too much: as it must be, for by them the scale is
// found.
struct LossScale {
  double last = 1;
  std::int64_t steps_without_update = 0;
};
std::optional<LossScale> loss_scale(const History& history);
std::string words(const LossScale& scale);  // for a person, in one line

// Ranks do every step, but each on its own clock, and so some are ahead (asynchronous gossip).
// Known once one has averaged with another.
bool averages_in_pairs(const History& history);

std::string words(const BadGradients& bad);  // for a person, in one sentence
std::string words(
    const Fault& fault);  // "rank 2 lost at 12.3 s, step 1,234: ended by signal 9 (Killed)"
Fault fault_from(const base::Json& json);  // as a run's result has it

// The first step whose training loss over all ranks is infinite or not a number; and what to say of
// it, in one sentence.
std::optional<std::int64_t> diverged_step(const History& history);
std::string divergence(std::int64_t step);

}  // namespace trainyard::telemetry
