// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/theme/manual_topic.h"

#include <QDockWidget>
#include <QVariant>
#include <QWidget>

namespace trainyard::ui {
namespace {

constexpr auto kTopic = "manual_topic", kField = "manual_field", kWhere = "manual_where",
               kWhat = "manual_what", kCode = "manual_code", kId = "manual_id";

QString text(const std::string& string) { return QString::fromStdString(string); }

}  // namespace

void set_manual_topic(QWidget* widget, const QString& topic) { widget->setProperty(kTopic, topic); }

void set_manual_field(QWidget* widget, const QString& part) { widget->setProperty(kField, part); }

void set_manual_problem(QWidget* widget, const std::optional<base::Problem>& problem) {
  widget->setProperty(kId, problem ? QVariant(text(problem->id)) : QVariant());
  widget->setProperty(kWhere, problem ? QVariant(text(problem->where)) : QVariant());
  widget->setProperty(kWhat, problem ? QVariant(text(problem->what)) : QVariant());
  widget->setProperty(kCode, problem ? QVariant(static_cast<int>(problem->code)) : QVariant());
}

ManualTopic manual_topic_of(const QWidget* widget) {
  ManualTopic found;
  for (; widget; widget = widget->parentWidget()) {
    if (const QVariant code = widget->property(kCode); code.isValid() && !found.problem)
      found.problem = {widget->property(kId).toString().toStdString(),
                       static_cast<base::ProblemCode>(code.toInt()),
                       widget->property(kWhere).toString().toStdString(),
                       widget->property(kWhat).toString().toStdString(),
                       "",
                       ""};
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
