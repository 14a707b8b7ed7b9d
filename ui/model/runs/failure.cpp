// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/runs/failure.h"

#include <QRegularExpression>

#include "core/base/json.h"

namespace trainyard::ui {
namespace {

using base::Json;

std::string text_at(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>() : "";
}

}  // namespace

std::optional<base::Problem> failure_of_run(const telemetry::History& history) {
  for (const Json* json : {&history.result(), &history.state()}) {
    if (!json->is_object() || !json->contains("problem") || !(*json)["problem"].is_object())
      continue;
    const Json& text = (*json)["problem"];
    base::Problem problem{text_at(text, "id"),       base::ProblemCode::failed,
                          text_at(text, "where"),    text_at(text, "what"),
                          text_at(text, "accepted"), text_at(text, "advice")};
    if (text_at(text, "code") == base::name(base::ProblemCode::canceled))
      problem.code = base::ProblemCode::canceled;
    return problem;
  }
  return {};
}

std::set<int> ranks_in_problem(const base::Problem& problem) {
  static const QRegularExpression named(QStringLiteral(R"(\brank (\d+))"));
  std::set<int> ranks;
  for (auto found = named.globalMatch(QString::fromStdString(problem.where)); found.hasNext();)
    ranks.insert(found.next().captured(1).toInt());
  return ranks;
}

}  // namespace trainyard::ui
