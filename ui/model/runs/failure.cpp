// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/failure.h"

#include <QRegularExpression>

namespace trainyard::ui {

std::optional<base::Problem> failure_of_run(const telemetry::History& history) {
  if (const auto& result = history.recorded_result(); result && result->problem)
    return result->problem;
  const auto& states = history.recorded_states();
  return states.empty() ? std::nullopt : states.back().problem;
}

std::set<int> ranks_in_problem(const base::Problem& problem) {
  static const QRegularExpression named(QStringLiteral(R"(\brank (\d+))"));
  std::set<int> ranks;
  for (auto found = named.globalMatch(QString::fromStdString(problem.where)); found.hasNext();)
    ranks.insert(found.next().captured(1).toInt());
  return ranks;
}

}  // namespace trainyard::ui
