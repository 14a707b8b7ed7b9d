// SPDX-License-Identifier: GPL-3.0-or-later
// Topics of widgets in the manual. F1 shows the topic of the focused widget, or of its nearest
// ancestor that has one.
#pragma once

#include <QString>
#include <optional>

#include "core/base/result.h"

class QWidget;

namespace trainyard::ui {

// A page, section or name that the manual finds ("canvas.md").
void set_manual_topic(QWidget* widget, const QString& topic);
// Sets a part of the path of an experiment's field. The parts of a widget's ancestors precede its
// own.
void set_manual_field(QWidget* widget, const QString& part);
void set_manual_problem(QWidget* widget, const std::optional<base::Problem>& problem);

struct ManualTopic {
  QString topic, field, panel;  // panel: name of the dock that contains the widget
  std::optional<base::Problem> problem;
};
ManualTopic manual_topic_of(const QWidget* widget);  // null: a topic without content

}  // namespace trainyard::ui
