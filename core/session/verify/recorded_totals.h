// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of a run, added up from the events of its recording. This code shares nothing with
// telemetry/summary.h, from which the result of a run is made, so that an error in one of them
// shows as a difference. It keeps no ops in memory, so the recording may have any length.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/plan/plan.h"
#include "core/telemetry/event.h"

namespace trainyard::session {

// Totals of one rank over all processes that it had.
struct RankTotals {
  double samples = 0;  // Samples of all steps, including steps whose gradient was not applied.
  double dropped_samples = 0;
  double unapplied_samples = 0;  // Samples of gradients in an update that was never complete.
  double sent_payload_bytes = 0, received_payload_bytes = 0;
  double sent_header_bytes = 0, received_header_bytes = 0;
  double dropped_events = 0;  // Events that are missing in the recording.
};

// Means of loss and accuracy over all samples of the last step that all ranks reported.
struct LastFigures {
  std::int32_t step = -1;  // From 0; -1: no step was reported.
  // Nothing if some rank did not report the figure.
  std::optional<double> loss, accuracy;
};

struct RecordedTotals {
  base::Json header = base::Json::object();
  base::Json result;   // Result in the recording; null if the recording has none.
  std::string damage;  // Reason why the rest of the recording cannot be read; empty: none.
  // Values of JSON frames that are invalid, such as a text instead of a number.
  base::Problems invalid_values;
  std::vector<RankTotals> ranks;
  std::int64_t steps = 0;  // Steps that every rank involved has finished.
  // Times of the slowest rank of each of these steps, sorted. A thinned recording lacks most times.
  std::vector<double> step_seconds;
  LastFigures train, held_out;
  std::vector<double> staleness;  // Staleness of every applied gradient.
  double dropped_gradients = 0;
  std::optional<double> consensus_distance;  // At the last measurement.
  std::int64_t ops = 0;                      // Recorded ops.
  // Payload bytes of all recorded ops that send. Not added up without a plan.
  double sent_op_bytes = 0;

  // True if the recording lacks ops and times of some steps, because it was thinned.
  bool is_thinned = false;

  double sum(double RankTotals::*figure) const;
};

// Reads the recording in `run_directory`. `plan`: plan of the run, which tells which ops send; null
// if unknown. Damage ends the reading and is stated in the result. Returns a Problem if there is no
// recording.
base::Result<RecordedTotals> add_up_recording(const std::filesystem::path& run_directory,
                                              const plan::Plan* plan);

}  // namespace trainyard::session
