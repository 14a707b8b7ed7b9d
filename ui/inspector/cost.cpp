// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/cost.h"

#include <QCoreApplication>
#include <algorithm>

#include "core/base/units.h"
#include "core/collective/expand.h"
#include "core/plan/engine_lane.h"
#include "core/run/layout.h"
#include "core/run/row_counts.h"
#include "ui/model/counted.h"

namespace trainyard::ui {
namespace {

QString text(const char* source) { return QCoreApplication::translate("cost", source); }
QString bytes(std::int64_t number) { return QString::fromStdString(base::format_bytes(static_cast<double>(number))); }

}  // namespace

Cost cost_of(const experiment::Resolved& experiment, const plan::Plan& expanded) {
  Cost cost{expanded.ranks, experiment.model.elements, 0, run::names_rows(expanded), 0, experiment.steps, {}};
  for (const std::int32_t rank : {0, expanded.ranks - 1, std::max(experiment.storage_rank, 0)}) {
    const plan::RankPlan plan = expanded.rank_plan(rank);
    if (cost.engine.empty()) cost.engine = plan::engine_of(plan);
    const run::Layout layout = run::layout(plan);
    cost.memory_bytes = std::max(cost.memory_bytes, layout.private_bytes + layout.shared_bytes);
    cost.sent_bytes = std::max(cost.sent_bytes, collective::step_sent_bytes(plan, expanded.schedule));
  }
  cost.savings = experiment::savings(experiment);
  return cost;
}

QString cost_line(const Cost& cost) {
  const QString held = bytes(cost.memory_bytes);
  const QString of_rank =
      cost.ranks == 1 ? text("nothing sent, %1 of buffers").arg(held)
      : !cost.engine.empty()
          ? text("a rank has %1 of buffers; what %2 sends it does not report").arg(held, QString::fromStdString(cost.engine))
          : text("a rank sends %1%2 a step, has %3 of buffers").arg(cost.sent_at_most ? text("at most ") : QString(), bytes(cost.sent_bytes), held);
  const QString saved = cost.savings ? text("; gradients are %1").arg(QString::fromStdString(experiment::savings_said(*cost.savings))) : QString();
  return text("%1, %2, %3; %4%5")
      .arg(counted(cost.ranks, text("ranks")), counted(cost.parameters, text("parameters")), counted(cost.steps, text("steps")), of_rank, saved);
}

}  // namespace trainyard::ui
