// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/model/document/display_problems.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <algorithm>
#include <vector>

#include "core/experiment/field_templates.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;

// Labels of fields whose name alone is unclear.
constexpr std::pair<const char*, const char*> kPlainLabels[] = {
    {"topology", QT_TRANSLATE_NOOP("field", "Drawing")},
    {"address", QT_TRANSLATE_NOOP("field", "Machine")},
    {"hang_seconds", QT_TRANSLATE_NOOP("field", "Hang timeout")},
    {"checkpoint_every_steps", QT_TRANSLATE_NOOP("field", "Checkpoint every")},
    {"resume_from", QT_TRANSLATE_NOOP("field", "Resume from")},
    {"restarts", QT_TRANSLATE_NOOP("field", "Restarts")},
    {"csv", QT_TRANSLATE_NOOP("field", "CSV")},
    {"fsdp", QT_TRANSLATE_NOOP("field", "FSDP")},
    {"rpc", QT_TRANSLATE_NOOP("field", "RPC")},
    {"record_ops", QT_TRANSLATE_NOOP("field", "Record every op")},
    {"recording_limit_bytes", QT_TRANSLATE_NOOP("field", "Recording limit")}};

// Returns the name of the drawn object to which a path leads. `place` is the match of the path: its
// groups are the name of the list, the index in the list, and the index of the device on its host.
QString object_name_at(const topology::Topology& topology, const QRegularExpressionMatch& place) {
  const QString list = place.captured(1), device = place.captured(3);
  const std::size_t index = place.captured(2).toULongLong(), on_host = device.toULongLong();
  if (list == "links" && index < topology.links.size())
    return as_text(topology.links[index].from + " – " + topology.links[index].to);
  if (list == "switches" && index < topology.switches.size())
    return as_text(topology.switches[index].name);
  if (list != "hosts" || index >= topology.hosts.size()) return {};
  const topology::Host& host = topology.hosts[index];
  if (device.isEmpty()) return as_text(host.name);
  return on_host < host.devices.size()
             ? field_text("%1 on %2").arg(as_text(host.devices[on_host].name), as_text(host.name))
             : QString();
}

// Returns the label of one component of a path. Forms count elements from 0, so "layers[2]", the
// third layer, is "Layer 2".
QString step_text(const FieldDescription& field, const QString& step) {
  static const QRegularExpression element(R"(\[(\d+)\]$)");
  const auto match = element.match(step);
  return match.hasMatch() ? singular(label_of(field)) + " " + match.captured(1) : label_of(field);
}

// Returns the labels of the fields along a path. Empty if `fields` does not describe the path.
QStringList labels_along(const std::vector<FieldDescription>& fields, const QStringList& steps) {
  QStringList labels;
  const std::vector<FieldDescription>* level = &fields;
  for (const QString& step : steps) {
    const auto at =
        std::ranges::find(*level, step.section('[', 0, 0).toStdString(), &FieldDescription::name);
    if (at == level->end()) return {};
    labels << step_text(*at, step);
    level = &at->fields;
  }
  return labels;
}

// Translates the paths in problems of one experiment to readable text.
class ProblemFormatter {
 public:
  explicit ProblemFormatter(const experiment::Experiment& experiment)
      : topology_(experiment.topology), fields_(base::describe(experiment)) {}

  DisplayProblem format_problem(const base::Problem& found) const {
    return {found,
            {found.id, found.code, place(as_text(found.where)).toStdString(), sentence(found.what),
             sentence(found.accepted), sentence(found.advice)}};
  }

 private:
  QString place(const QString& path) const;
  std::string sentence(const std::string& text) const;

  const topology::Topology& topology_;
  std::vector<FieldDescription> fields_;
};

QString ProblemFormatter::place(const QString& path) const {
  static const QRegularExpression form(
      R"(^topology\.(hosts|switches|links)\[(\d+)\](?:\.devices\[(\d+)\])?)");
  const QStringList labels = labels_along(fields_, path.split('.'));
  if (labels.isEmpty()) return path;
  const auto match = form.match(path);
  const QString thing = object_name_at(topology_, match);
  if (thing.isEmpty()) return labels.join(": ");
  return (QStringList(thing) << labels.mid(match.captured(3).isEmpty() ? 2 : 3)).join(": ");
}

// Replaces paths in a sentence by quoted labels.
std::string ProblemFormatter::sentence(const std::string& text) const {
  static const QRegularExpression path(
      R"(\b(?:topology|model|data|strategy|training|run)(?:\.[a-z_0-9]+(?:\[\d+\])?)+)");
  QString put;
  qsizetype end = 0;
  const QString given = as_text(text);
  for (auto found = path.globalMatch(given); found.hasNext();) {
    const auto match = found.next();
    const QString displayed = place(match.captured());
    put += given.mid(end, match.capturedStart() - end) +
           (displayed == match.captured() ? displayed : '"' + displayed + '"');
    end = match.capturedEnd();
  }
  return (put + given.mid(end)).toStdString();
}

}  // namespace

QString field_text(const char* source, int n) {
  return QCoreApplication::translate("field", source, nullptr, n);
}

// Returns the label of a field. The unit is removed from the field's name, because forms show it
// beside the number.
QString label_of(const FieldDescription& field) {
  static const std::pair<const char*, const char*> kUnitSuffixes[] = {{"B", "_bytes"},
                                                                      {"B/s", "_bytes_per_second"},
                                                                      {"bit/s", "_bits_per_second"},
                                                                      {"s", "_seconds"},
                                                                      {"steps", "_steps"}};
  for (const auto& [name, label] : kPlainLabels)
    if (field.name == name) return field_text(label);
  QString name = QString::fromStdString(field.name);
  for (const auto& [unit, ending] : kUnitSuffixes)
    if (field.unit == unit && name.endsWith(ending))
      name.chop(static_cast<qsizetype>(std::string_view(ending).size()));
  name.replace('_', ' ');
  if (!name.isEmpty()) name[0] = name[0].toUpper();
  return name;
}

DisplayProblems display_problems(const experiment::Experiment& experiment,
                                 const base::Problems& problems) {
  if (problems.empty()) return {};
  const ProblemFormatter formatter(experiment);
  DisplayProblems all;
  for (const base::Problem& problem : problems) all.push_back(formatter.format_problem(problem));
  return all;
}

}  // namespace trainyard::ui
