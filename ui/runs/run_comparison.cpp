// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/run_comparison.h"

#include <QCoreApplication>

#include "core/base/fields.h"
#include "core/base/units.h"
#include "core/telemetry/compare.h"

namespace trainyard::ui {
namespace {

const QString kNone = QStringLiteral("–");

QString tr(const char* text) { return QCoreApplication::translate("runs", text); }

QString shown(const base::Json& value) { return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump()); }

QString figure(const base::Json& result, const std::string& path, const QString& unit) {
  const auto value = base::value_at(result, path);
  if (!value || !value->is_number()) return kNone;
  const double number = value->get<double>();
  if (unit == "%") return QString::number(number * 100, 'f', 2) + " %";
  if (unit == "s") return QString::fromStdString(base::format_seconds(number));
  if (unit == "B") return QString::fromStdString(base::format_bytes(number));
  return QString::number(number, 'g', 5) + (unit.isEmpty() ? "" : " " + unit);
}

void add_settings(const std::vector<RunEntry>& runs, std::vector<ComparisonRow>& rows) {
  std::vector<base::Json> documents;
  for (const RunEntry& run : runs) documents.push_back(run.experiment);
  for (const auto& difference : telemetry::differences(documents)) {
    ComparisonRow row{QString::fromStdString(difference.path), {}, false, {}};
    for (const auto& value : difference.values) row.values << (value ? shown(*value) : kNone);
    rows.push_back(row);
  }
}

struct Figure {
  QString name;
  const char* path;
  QString unit, help;
};

// As core/telemetry/summary.h reckons them.
std::vector<Figure> figures_of_a_run() {
  const QString slowest = tr("A step takes as long as on its slowest rank, waiting for the others included.");
  return {{tr("held-out accuracy"), "held_out_accuracy", "%", tr("Of the samples that are not trained on, at the last measurement.")},
          {tr("train loss"), "train_loss", "", tr("Of the last step, over the samples of all ranks.")},
          {tr("steps"), "steps", "", tr("That every rank has finished.")},
          {tr("wall time"), "wall_seconds", "s", tr("From Run pressed to the end: starting the processes, pauses and held-out passes included.")},
          {tr("samples/s"), "samples_per_second", "",
           tr("Sum over ranks of: its samples / the sum of its step times.\nStep times include waiting for other ranks, and slow steps count in full; held-out "
              "passes and pauses do not. So it is less than samples a step / median step where some steps are slow.")},
          {tr("median step"), "step_seconds.median", "s", tr("Half of the steps took no longer.") + "\n" + slowest},
          {tr("95th percentile step"), "step_seconds.p95", "s", tr("95 of 100 steps took no longer.") + "\n" + slowest},
          {tr("payload on the wire"), "wire_bytes.payload", "B", tr("Sent by all ranks, headers not counted.")}};
}

void add_results(const std::vector<RunEntry>& runs, std::vector<ComparisonRow>& rows) {
  ComparisonRow status{tr("status"), {}, true, {}};
  for (const RunEntry& run : runs) status.values << run.state;
  rows.push_back(status);
  for (const Figure& one : figures_of_a_run()) {
    ComparisonRow row{one.name, {}, true, one.help};
    for (const RunEntry& run : runs) row.values << figure(run.result, one.path, one.unit);
    if (row.values.count(kNone) < row.values.size()) rows.push_back(row);
  }
}

}  // namespace

std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs) {
  std::vector<ComparisonRow> rows;
  if (runs.empty()) return rows;
  if (runs.size() > 1) add_settings(runs, rows);
  add_results(runs, rows);
  return rows;
}

}  // namespace trainyard::ui
