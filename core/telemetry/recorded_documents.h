// SPDX-License-Identifier: GPL-3.0-or-later
// Values of the JSON frames of a recording, and of the file result.json. Readers use these values
// instead of the JSON, because any value of a damaged recording may be absent or of another type.
// Such a value has its default here.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/json_fwd.h"
#include "core/base/result.h"

namespace trainyard::telemetry {

// Maximum number of ranks of a recording.
inline constexpr int kMaxRanks = 1 << 16;
// Value of numbers that a run did not record. Readers test them with std::isnan.
inline constexpr double kNotRecorded = std::numeric_limits<double>::quiet_NaN();

// Fault of a rank (lost, killed, stalled, slowed, came back) or of a link (cut, slowed, restored).
// Its time counts from the same origin as the times of a Series (history.h).
struct Fault {
  std::string kind, text;
  int rank = -1;          // -1: a link.
  std::int64_t step = 0;  // Step of the run; in asynchronous gossip the rank's step.
  double seconds = 0;
  int link = -1;  // Index of the link in the drawing.
};

// Values of the header besides the resolved experiment.
struct RecordedHeader {
  int ranks = 0;
  std::vector<std::string> segments;
  std::string software;              // Version of the program that made the recording.
  double started_unix_seconds = -1;  // Negative: not recorded.
  int cores = 0;                     // Usable cores of the machine; 0: not recorded.
  // Number of ranks that report each training step and each evaluation; 0: all ranks.
  int reports_of_step = 0, reports_of_evaluation = 0;
  // True if only ranks whose gradients the first server applied to a step count.
  bool only_applied = false;
  int first_server = -1;  // Rank; -1: the run has no servers.
  std::int64_t steps_apart =
      0;                        // Steps between evaluations if steps complete out of order; else 0.
  int evaluator = -1;           // Rank; -1: the run has no evaluator.
  std::int64_t first_step = 0;  // Above 0 only if the run resumed from a checkpoint.
  double lambda_2 = kNotRecorded;
  // Planned bytes of the buffers, by rank and by run::MemoryPurpose.
  std::vector<std::vector<double>> buffer_bytes;
  std::vector<double> padding_bytes;  // Planned bytes between the buffers, by rank.
};

struct RecordedState {
  std::string state;
  std::optional<std::int64_t> time_ns;  // Clock that all ranks share.
  std::int64_t step = 0;
  double seconds_per_step = 0;
  std::optional<base::Problem> problem;
  std::optional<Fault> fault;  // Without a time.
};

struct RecordedRank {
  std::int64_t sent_bytes = 0;
  std::string parameters_xxh64;  // Empty if the rank has no final parameters.
  bool emulated = false;
};

struct RecordedStepSeconds {
  double median = kNotRecorded, p95 = kNotRecorded;
};

struct RecordedResult {
  std::string status;
  std::int64_t steps = 0;
  std::int64_t first_step = 0;
  double wall_seconds = 0;
  double samples_per_second = kNotRecorded, train_loss = kNotRecorded,
         held_out_accuracy = kNotRecorded, simulated_step_seconds = kNotRecorded;
  RecordedStepSeconds step_seconds;
  std::optional<std::int64_t> committed_step, diverged_step;
  std::vector<RecordedRank> ranks;
  std::optional<base::Problem> problem;
};

// Thinning of the recording of a long run (bounded_recording.h).
struct RecordedThinning {
  std::int64_t from_step = -1;      // First step that is not recorded completely; -1: none.
  std::int64_t interval_steps = 1;  // Steps of a block. Ops are recorded of one step of each block.
  std::int64_t limit_bytes = 0;
  std::int64_t dropped_ops = 0;        // Ops that no file of the recording has.
  std::int64_t summarized_values = 0;  // Values that are only in blocks.
};

struct RecordedLogLine {
  std::string level, text;
  std::optional<std::int64_t> time_ns;
};

// Read the JSON of a frame. Append a problem for each value that is present but invalid; the path
// of the value is its key, such as "step_seconds.median".
RecordedHeader read_header(const base::Json& json, base::Problems& problems);
RecordedState read_state(const base::Json& json, base::Problems& problems);
RecordedResult read_result(const base::Json& json, base::Problems& problems);
RecordedThinning read_thinning(const base::Json& json, base::Problems& problems);
RecordedLogLine read_log_line(const base::Json& json, base::Problems& problems);
// Reads a fault of a result.
Fault read_fault(const base::Json& json, base::Problems& problems);
// Returns the JSON of a `thinning` frame.
base::Json to_json(const RecordedThinning& thinning);

}  // namespace trainyard::telemetry
