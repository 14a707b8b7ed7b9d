// SPDX-License-Identifier: GPL-3.0-or-later
// Recording of a run of any length, within a limit of bytes as far as possible: the metrics of
// every step are recorded even if they alone need more. A run whose complete recording fits into
// the limit is recorded completely, and of a longer run the first part is. From then on the
// recording is thinned:
//   - Metrics that a result is made of (`is_always_recorded`) are recorded at every step,
//     compressed.
//   - Other metrics are summarized by blocks of at most N steps (series_block.h), with exact totals
//     and extremes.
//   - Ops are recorded of one step in N, of single steps, and around faults.
// The last part of the run is also recorded completely, in files beside the recording
// (`recent_file`). There are at most two of these files; older ones are removed. RecordingReader
// reads them in place of the thinned part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

#include "core/base/json_fwd.h"
#include "core/base/result.h"
#include "core/telemetry/event.h"
#include "core/telemetry/recorded_documents.h"
#include "core/telemetry/recording.h"

namespace trainyard::telemetry {

// True for metrics that are never summarized: samples, loss, accuracy, gradient norms, staleness,
// and everything that states what was dropped.
bool is_always_recorded(Metric metric);

struct RecordingLimit {
  // Ops of one step in an interval are recorded. The interval grows if the limit requires it.
  static constexpr std::int32_t kMinInterval = 64;

  std::int64_t bytes = 0;  // Limit of the size of all files of the recording; 0: none.
  std::int64_t steps = 0;  // Number of steps of the run.

  // True if the limit admits a complete recording of this size. An eighth is left, because the size
  // is predicted.
  bool fits(double complete_bytes) const {
    return bytes == 0 || complete_bytes <= 0.875 * static_cast<double>(bytes);
  }
  // Size of the complete first part of a run whose recording does not fit, and of each of the two
  // files with its last part.
  std::int64_t full_bytes() const { return std::max<std::int64_t>(bytes / 8, 200'000); }
  std::int64_t recent_bytes() const { return std::max<std::int64_t>(bytes / 16, 100'000); }
};

class BoundedRecording {
 public:
  // Creates the recording in `directory`, as RecordingWriter::create does.
  static base::Result<BoundedRecording> create(const std::filesystem::path& directory,
                                               const base::Json& header,
                                               const RecordingLimit& limit);
  ~BoundedRecording();
  BoundedRecording(BoundedRecording&&) noexcept;
  BoundedRecording& operator=(BoundedRecording&&) noexcept;

  // Append a frame, and events of a rank. They return the first write error, as every later call
  // does.
  base::Result<void> append(FrameType type, int rank, std::span<const std::byte> payload);
  base::Result<void> append_events(int rank, std::span<const Event> events);

  // While true, all ops are recorded.
  void keep_ops(bool all);
  // Records the ops of the last steps of every rank, which the recording lacks so far, and of its
  // next steps.
  base::Result<void> keep_ops_around_now();

  base::Result<void> flush();
  // As RecordingWriter::restore_if_removed.
  base::Result<void> restore_if_removed();
  base::Result<void> close();

  // State of the thinning; `from_step` is negative as long as the recording is complete.
  const RecordedThinning& thinning() const;

  static constexpr std::int32_t kStepsAroundFault = 4;

 private:
  struct State;
  explicit BoundedRecording(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace trainyard::telemetry
