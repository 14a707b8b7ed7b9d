// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/session/advice/recording_estimate.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "core/base/units.h"
#include "core/telemetry/bounded_recording.h"

namespace trainyard::session {
namespace {

// Metrics that a rank reports at every step: its time and four parts of it, loss, correct samples,
// samples and learning rate (run/meters/step_meter.cpp).
constexpr double kMetricsOfStep = 9;
constexpr double kCountersOfPeer = 4;  // Payload and headers, sent and received.
constexpr double kNormsOfSegment = 3;  // Local gradient, reduced gradient, change of parameters.
constexpr double kBytesOfTime = 3;     // Compressed time of a rank's step.
constexpr double kBytesOfValue = sizeof(double);
constexpr double kBytesOfBlock = 35;  // Compressed summary of a series.
// Metrics of a rank, and of a segment, that are summarized.
constexpr double kSummarizedOfStep = 6, kSummarizedOfSegment = 1;

const plan::Program& longest_program(const plan::RankPlan& rank) {
  return *std::ranges::max_element(rank.programs, {},
                                   [](const plan::Program& program) { return program.ops.size(); });
}

double peers_of(const plan::Program& program) {
  std::set<std::int32_t> peers;
  for (const plan::Op& op : program.ops)
    if (op.peer >= 0) peers.insert(op.peer);
  return static_cast<double>(peers.size());
}

}  // namespace

RecordingEstimate estimate_recording(const experiment::Resolved& resolved, const plan::Plan& plan) {
  const experiment::RunSpec& run = resolved.document.run;
  const auto steps = static_cast<double>(resolved.steps - resolved.first_step);
  const auto segments = static_cast<double>(std::ranges::count_if(
      resolved.model.segments, [](const auto& segment) { return segment.elements > 0; }));
  double events = 0, ops = 0, summarized = 0;
  for (std::int32_t number = 0; number < plan.ranks; ++number) {
    const plan::RankPlan rank = plan.rank_plan(number);
    if (rank.programs.empty()) continue;
    const plan::Program& program = longest_program(rank);
    const double counters = kCountersOfPeer * peers_of(program);
    events += kMetricsOfStep + kNormsOfSegment * segments + counters;
    summarized += kSummarizedOfStep + kSummarizedOfSegment * segments + counters;
    if (run.record_ops) ops += static_cast<double>(program.ops.size());
  }
  const double ops_bytes = ops * sizeof(telemetry::Event),
               step_bytes = events * sizeof(telemetry::Event) + ops_bytes;
  const telemetry::RecordingLimit limit{run.recording_limit_bytes, resolved.steps};
  RecordingEstimate estimate{step_bytes * steps, step_bytes * steps, -1};
  const auto full = static_cast<double>(limit.full_bytes());
  if (estimate.complete_bytes <= full || limit.fits(estimate.complete_bytes)) return estimate;
  // Summaries end at least with each file of recent events.
  const double full_steps = full / step_bytes, thinned_steps = steps - full_steps,
               recent = static_cast<double>(limit.recent_bytes()),
               always =
                   kBytesOfValue * segments + static_cast<double>(plan.ranks) *
                                                  (kBytesOfValue * (1 + segments) + kBytesOfTime),
               blocks = summarized * kBytesOfBlock * thinned_steps * step_bytes / recent,
               needed = full + 2 * recent + always * thinned_steps + blocks,
               single_steps = ops_bytes * thinned_steps / telemetry::RecordingLimit::kMinInterval;
  estimate.thinned_from_step = resolved.first_step + static_cast<std::int64_t>(full_steps);
  // Ops of single steps fill at most what the limit leaves.
  const double filled =
      std::max(needed, std::min(needed + single_steps, static_cast<double>(limit.bytes)));
  estimate.bytes = std::min(estimate.complete_bytes, filled);
  return estimate;
}

std::string recording_line(const RecordingEstimate& estimate) {
  const std::string bytes = base::format_bytes(estimate.bytes);
  if (estimate.thinned_from_step < 0) return fmt::format("about {}", bytes);
  return fmt::format(
      "about {}, thinned from about step {} on; complete it would be {} "
      "(run.recording_limit_bytes)",
      bytes, base::format_count(estimate.thinned_from_step),
      base::format_bytes(estimate.complete_bytes));
}

}  // namespace trainyard::session
