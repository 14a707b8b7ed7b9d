// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/collective/engine_cost.h"
#include "core/plan/engine_lane.h"
#include "core/run/bind/layout.h"
#include "core/run/input/row_counts.h"
#include "core/session/advice/recording_estimate.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

QString cost_text(const char* source, int n = -1) {
  return QCoreApplication::translate("cost", source, nullptr, n);
}

// Smallest and largest number of bytes over all ranks. The two count as equal if they are displayed
// as the same text.
struct Range {
  std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0;
  void take(std::int64_t value) { least = std::min(least, value), most = std::max(most, value); }
  bool differs() const { return size_text(least) != size_text(most); }
};

QString at_most(bool so) { return so ? cost_text("at most ") : QString(); }

}  // namespace

Cost cost_of(const experiment::Resolved& experiment, const plan::Plan& expanded,
             const std::stop_token& stop) {
  Cost cost{
      .ranks = expanded.ranks, .parameters = experiment.model.elements, .steps = experiment.steps};
  Range sent, memory;
  for (std::int32_t rank = 0; rank < expanded.ranks && !stop.stop_requested(); ++rank) {
    const plan::RankPlan plan = expanded.rank_plan(rank);
    if (cost.engine.empty()) cost.engine = plan::engine_of(plan);
    const run::Layout layout = run::layout(plan);
    memory.take(layout.device_bytes());
    sent.take(cost.engine.empty()
                  ? collective::step_sent_bytes(plan, expanded.schedule)
                  : collective::step_engine_bytes(plan, expanded.groups, expanded.schedule));
  }
  if (stop.stop_requested()) return cost;
  cost.sent_bytes = sent.most, cost.sent_at_most = run::names_rows(expanded) || sent.differs();
  cost.memory_bytes = memory.most, cost.memory_at_most = memory.differs();
  cost.savings = experiment::savings(experiment);
  const session::RecordingEstimate recording = session::estimate_recording(experiment, expanded);
  cost.recording_bytes = std::llround(recording.bytes);
  cost.recording_is_thinned = recording.thinned_from_step >= 0;
  return cost;
}

QString cost_line(const Cost& cost) {
  const QString held = at_most(cost.memory_at_most) + size_text(cost.memory_bytes);
  const QString of_rank =
      cost.ranks == 1 ? cost_text("no traffic, %1 of buffers").arg(held)
      : !cost.engine.empty()
          ? cost_text(
                "each rank: needs %1 of buffers, sends %2%3 per step by formula (%4 does not "
                "report its "
                "traffic)")
                .arg(held, at_most(cost.sent_at_most), size_text(cost.sent_bytes),
                     QString::fromStdString(cost.engine))
          : cost_text("each rank: sends %1%2 per step, needs %3 of buffers")
                .arg(at_most(cost.sent_at_most), size_text(cost.sent_bytes), held);
  const QString saved =
      cost.savings ? cost_text("; gradients are %1")
                         .arg(QString::fromStdString(experiment::savings_line(*cost.savings)))
                   : QString();
  const QString recording =
      cost.recording_is_thinned ? cost_text("recording thinned to %1") : cost_text("recording %1");
  return cost_text("%1, %2, %3; %4%5; %6")
      .arg(cost_text("%n rank(s)", plural(cost.ranks)),
           cost_text("%1 parameter(s)", plural(cost.parameters)).arg(grouped(cost.parameters)),
           cost_text("%n step(s)", plural(cost.steps)), of_rank, saved,
           recording.arg(size_text(cost.recording_bytes)));
}

}  // namespace trainyard::ui
