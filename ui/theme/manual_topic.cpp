// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/manual_topic.h"

#include <QDockWidget>
#include <QVariant>
#include <QWidget>

namespace trainyard::ui {
namespace {

constexpr auto kTopic = "manual_topic", kField = "manual_field", kProblem = "manual_problem";

}  // namespace

void set_manual_topic(QWidget* widget, const QString& topic) { widget->setProperty(kTopic, topic); }

void set_manual_field(QWidget* widget, const QString& part) { widget->setProperty(kField, part); }

void set_manual_problem(QWidget* widget, const std::optional<base::Problem>& problem) {
  widget->setProperty(kProblem, problem ? QVariant::fromValue(*problem) : QVariant());
}

ManualTopic manual_topic_of(const QWidget* widget) {
  ManualTopic found;
  for (; widget; widget = widget->parentWidget()) {
    if (const QVariant problem = widget->property(kProblem); problem.isValid() && !found.problem)
      found.problem = problem.value<base::Problem>();
    if (const QString part = widget->property(kField).toString(); !part.isEmpty())
      found.field = found.field.isEmpty() ? part : part + "." + found.field;
    if (const QString topic = widget->property(kTopic).toString();
        !topic.isEmpty() && found.topic.isEmpty())
      found.topic = topic;
    if (const auto* dock = qobject_cast<const QDockWidget*>(widget)) {
      found.panel = dock->objectName();
      break;
    }
  }
  return found;
}

}  // namespace trainyard::ui
