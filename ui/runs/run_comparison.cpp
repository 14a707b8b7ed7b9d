// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/runs/run_comparison.h"

#include <QCoreApplication>
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/units.h"
#include "core/experiment/document.h"
#include "core/experiment/field_templates.h"
#include "core/telemetry/compare.h"
#include "ui/model/document/canonical_form.h"
#include "ui/model/text/count_text.h"

namespace trainyard::ui {
namespace {

const QString kNone = QStringLiteral("–");

QString tr(const char* text) { return QCoreApplication::translate("runs", text); }

QString shown(const base::Json& value) {
  return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
}

QString figure(const base::Json& result, const std::string& path, const QString& unit) {
  const auto value = base::value_at(result, path);
  if (!value || !value->is_number()) return kNone;
  const double number = value->get<double>();
  if (unit == "%") return QString::number(number * 100, 'f', 2) + " %";
  if (unit == "s") return QString::fromStdString(base::format_seconds(number));
  if (unit == "B") return QString::fromStdString(base::format_bytes(number));
  // From 1,000 on, fractions are not shown.
  const bool is_whole = number == std::floor(number) || std::abs(number) >= 1000;
  return (is_whole && std::abs(number) < 1e15 ? grouped(std::llround(number))
                                              : QString::number(number, 'g', 5)) +
         (unit.isEmpty() ? "" : " " + unit);
}

// Returns the canonical form of a document, or the document itself if it cannot be parsed.
base::Json canonical_json(const base::Json& document) {
  const auto read = experiment::from_json(document);
  return read ? experiment::to_json(canonical_form(*read)) : document;
}

// Describes a layer by its kind and the fields that this kind uses: "linear 10". A flag is shown by
// its name if it is set: "linear 10 tied".
QString layer_text(const base::Json& part) {
  model::LayerSpec layer;
  base::Problems problems;
  base::read_document(part, layer, "", problems);
  QStringList words;
  for (const base::FieldDescription& field : base::describe(layer)) {
    const base::Json value = field.used ? part.value(field.name, base::Json()) : base::Json();
    if (value.is_null() || value == 0 || value == false) continue;
    words << (value.is_boolean() ? QString::fromStdString(field.name) : shown(value));
  }
  return words.join(" ");
}

// Describes an element of a list (device, link, ...) by its name. Without a name, describes it by
// its two ends, or else by its content.
QString element_text(const base::Json& part) {
  if (!part.is_object()) return shown(part);
  if (part.contains("name")) return shown(part["name"]);
  if (part.contains("from") && part.contains("to"))
    return shown(part["from"]) + " – " + shown(part["to"]);
  return layer_text(part);
}

using Documents = std::vector<base::Json>;

// The settings that differ between runs, by their paths.
class Settings {
 public:
  explicit Settings(const std::vector<RunEntry>& runs) {
    for (const RunEntry& run : runs) {
      resolved_.push_back(canonical_json(*run.experiment));
      given_.push_back(canonical_json((*run.given).is_object() ? *run.given : *run.experiment));
      // the resolved document states steps, and its canonical form thus no epochs
      if (const auto epochs = base::value_at(given_.back(), "training.epochs"))
        resolved_.back()["training"]["epochs"] = *epochs;
    }
  }
  std::vector<ComparisonRow> rows() {
    for (const auto& difference : telemetry::differences(resolved_))
      if (!derived(difference.path) && !is_list(difference)) add(difference);
    return std::move(rows_);
  }

 private:
  // True if the values of the setting differ only because they follow from other settings, and not
  // because users chose different values. Always false for settings of data, because these depend
  // on the file.
  bool derived(const std::string& path) const {
    if (path.starts_with("data.")) return false;
    const auto by_steps = [](const base::Json& given) {
      return base::value_at(given, "training.steps").value_or(0) != 0;
    };
    if (path == "training.epochs") return std::ranges::any_of(given_, by_steps);
    const auto value = [&](const base::Json& given) {
      return base::value_at(given, path).value_or(base::Json());
    };
    return std::ranges::all_of(
        given_, [&](const base::Json& given) { return value(given) == value(given_.front()); });
  }

  // True if the setting is a list or a JSON object in at least one of the compared runs.
  static bool is_list(const telemetry::Difference& difference) {
    return std::ranges::any_of(difference.values,
                               [](const auto& value) { return value && value->is_structured(); });
  }

  // Returns the path under which a difference is shown. If the path leads into a list element that
  // some run lacks, it is the path of the element. An additional device is then one difference
  // instead of one per field.
  std::string place_of(const std::string& path) const {
    for (std::size_t end = path.find(']'); end != std::string::npos;
         end = path.find(']', end + 1)) {
      std::string part = path.substr(0, end + 1);
      if (!std::ranges::all_of(resolved_, [&](const base::Json& document) {
            return base::value_at(document, part).has_value();
          }))
        return part;
    }
    return path;
  }

  void add(const telemetry::Difference& difference) {
    const std::string place = place_of(difference.path);
    if (!told_.insert(place).second) return;
    ComparisonRow row{QString::fromStdString(place), {}, false, {}};
    for (const base::Json& document : resolved_) {
      const auto value = base::value_at(document, place);
      row.values << (value ? element_text(*value) : kNone);
    }
    rows_.push_back(row);
  }

  Documents resolved_, given_;
  std::set<std::string> told_;
  std::vector<ComparisonRow> rows_;
};

struct Figure {
  QString name;
  const char* path;
  QString unit, help;
};

// Results of a run that core/telemetry/summary.h computes.
std::vector<Figure> figures_of_a_run() {
  const QString slowest = tr("Step time of the slowest rank, including waits for other ranks.");
  return {
      {tr("held-out accuracy"), "held_out_accuracy", "%",
       tr("Accuracy on held-out samples at the last evaluation.")},
      {tr("train loss"), "train_loss", "",
       tr("Loss of the last step, over the samples of all ranks.")},
      {tr("steps"), "steps", "", tr("Steps finished by every rank.")},
      {tr("wall time"), "wall_seconds", "s",
       tr("Time from pressing Run to the end, including process start, pauses and evaluations.")},
      {tr("samples/s"), "samples_per_second", "",
       tr("Sum over ranks of: samples of the rank / sum of its step times.\nStep times include "
          "waits for other ranks and slow steps, but not evaluations and pauses. If some steps are "
          "slow, the value is lower than samples per step / median step time.")},
      {tr("median step"), "step_seconds.median", "s",
       tr("Half of the steps were at most this long.") + "\n" + slowest},
      {tr("95th percentile step"), "step_seconds.p95", "s",
       tr("95 % of the steps were at most this long.") + "\n" + slowest},
      {tr("payload on the wire"), "wire_bytes.payload", "B",
       tr("Bytes sent by all ranks, without headers.")}};
}

void add_results(const std::vector<RunEntry>& runs, std::vector<ComparisonRow>& rows) {
  ComparisonRow status{tr("status"), {}, true, {}};
  for (const RunEntry& run : runs) status.values << run.state;
  rows.push_back(status);
  for (const Figure& one : figures_of_a_run()) {
    ComparisonRow row{one.name, {}, true, one.help};
    for (const RunEntry& run : runs) row.values << figure(*run.result, one.path, one.unit);
    if (row.values.count(kNone) < row.values.size()) rows.push_back(row);
  }
}

}  // namespace

std::vector<ComparisonRow> compare_runs(const std::vector<RunEntry>& runs) {
  std::vector<ComparisonRow> rows;
  if (runs.empty()) return rows;
  if (runs.size() > 1) rows = Settings(runs).rows();
  add_results(runs, rows);
  return rows;
}

QStringList merge_caveats(const std::vector<RunCaveats>& runs) {
  QStringList caveats;
  for (const RunCaveats& one : runs)
    for (const QString& caveat : one.caveats) {
      const bool of_all = std::ranges::all_of(
          runs, [&](const RunCaveats& other) { return other.caveats.contains(caveat); });
      const QString text = of_all ? caveat : one.run + ": " + caveat;
      if (!caveats.contains(text)) caveats << text;
    }
  return caveats;
}

}  // namespace trainyard::ui
