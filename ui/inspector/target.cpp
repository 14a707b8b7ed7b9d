// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/target.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <set>

#include "core/base/json.h"
#include "core/experiment/field_templates.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_edit.h"

namespace trainyard::ui {
namespace {

using base::Json;

QString target_text(const char* source, int n = -1) {
  return QCoreApplication::translate("target", source, nullptr, n);
}

// Collects the selected objects in the order of the drawing.
class Gathering {
 public:
  explicit Gathering(const SelectedObjects& picked) : picked_(picked) {}

  void visit(const topology::Topology& topology) {
    for (std::size_t h = 0; h < topology.hosts.size(); ++h) {
      const topology::Host& host = topology.hosts[h];
      const QString path = QString("topology.hosts[%1]").arg(h);
      take(host.name, host, path, "Host", "%n host(s)");
      for (std::size_t d = 0; d < host.devices.size(); ++d)
        take(host.devices[d].name, host.devices[d], path + QString(".devices[%1]").arg(d), "Device",
             "%n device(s)");
    }
    for (std::size_t s = 0; s < topology.switches.size(); ++s)
      take(topology.switches[s].name, topology.switches[s], QString("topology.switches[%1]").arg(s),
           "Switch", "%n switch(es)");
    const std::vector<LinkName> links = link_names(topology);
    for (std::size_t l = 0; l < links.size(); ++l)
      if (picked_.links.contains(links[l]))
        add(QString::fromStdString(links[l].from + " – " + links[l].to), topology.links[l],
            QString("topology.links[%1]").arg(l), "Link", "%n link(s)");
  }

  Target finish() {
    if (kinds_.size() > 1)
      target_ = {target_text("%n object(s)", plural(picked_.size())), {}, {}, {}, {}, {}};
    else if (target_.paths.size() > 1)
      target_.title = target_text(counted_, plural(target_.paths.size()));
    return std::move(target_);
  }

 private:
  template <class Thing>
  void take(const std::string& name, const Thing& thing, const QString& path, const char* kind,
            const char* counted) {
    if (picked_.names.contains(name)) add(QString::fromStdString(name), thing, path, kind, counted);
  }
  template <class Thing>
  void add(const QString& title, const Thing& thing, const QString& path, const char* kind,
           const char* counted) {
    kinds_.insert(kind);
    counted_ = counted;
    const Json values = base::write_document(thing);
    target_.paths << path;
    if (target_.paths.size() == 1) {
      target_.title = title;
      target_.kind = target_text(kind);
      target_.fields = base::describe(thing);
      target_.values = base::SharedJson(values);
      return;
    }
    for (const auto& [field, value] : values.items())
      if (value != (*target_.values).value(field, Json()) &&
          !target_.differing.contains(QString::fromStdString(field)))
        target_.differing << QString::fromStdString(field);
  }

  const SelectedObjects& picked_;
  Target target_;
  std::set<std::string> kinds_;
  const char* counted_ = "";
};

base::Problems rename_one(Document& document, const QString& path, SelectedObjects& picked,
                          const std::string& name, const std::string& to) {
  base::Problems problems;
  document.edit(
      QCoreApplication::translate("target", "Rename"),
      [&](experiment::Experiment& experiment) {
        if (auto renamed = rename(experiment.topology, name, to); !renamed)
          problems.push_back(renamed.error());
      },
      "rename " + path);
  if (problems.empty()) picked = {{to}, {}};
  return problems;
}

}  // namespace

Target target_of(const topology::Topology& topology, const SelectedObjects& picked) {
  Gathering gathering(picked);
  gathering.visit(topology);
  return gathering.finish();
}

SelectedObjects selection_at(const topology::Topology& topology, const QString& path) {
  static const QRegularExpression form(
      R"(^topology\.(hosts|switches|links)\[(\d+)\](?:\.devices\[(\d+)\])?)");
  const auto match = form.match(path);
  const std::size_t index = match.captured(2).toULongLong();
  const QString list = match.captured(1);
  if (list == "links" && index < topology.links.size()) return {{}, {link_names(topology)[index]}};
  if (list == "switches" && index < topology.switches.size())
    return {{topology.switches[index].name}, {}};
  if (list != "hosts" || index >= topology.hosts.size()) return {};
  const topology::Host& host = topology.hosts[index];
  const std::size_t device = match.captured(3).toULongLong();
  return !match.captured(3).isEmpty() && device < host.devices.size()
             ? SelectedObjects{{host.devices[device].name}, {}}
             : SelectedObjects{{host.name}, {}};
}

base::Problems set_field(Document& document, const Target& target, const QString& field,
                         const Json& value, SelectedObjects& picked) {
  if (field == "name" && value.is_string() && picked.names.size() == 1)
    return rename_one(document, target.paths.first(), picked, *picked.names.begin(),
                      value.get<std::string>());
  Json json = experiment::to_json(document.experiment());
  for (const QString& path : target.paths)
    if (const auto set = base::set_value_at(json, (path + "." + field).toStdString(), value); !set)
      return {set.error()};
  const auto read = experiment::from_json(json);
  if (!read) return read.error();
  document.edit(
      QCoreApplication::translate("target", "Set %1 of %2").arg(field, target.title),
      [&](experiment::Experiment& experiment) { experiment = *read; },
      "set:" + target.paths.join(' ') + "." + field);
  if (!picked.links.empty()) {  // renaming an object may have renamed an end of the selected links
    picked.links.clear();
    for (const QString& path : target.paths)
      picked.links.merge(selection_at(document.experiment().topology, path).links);
  }
  return {};
}

}  // namespace trainyard::ui
