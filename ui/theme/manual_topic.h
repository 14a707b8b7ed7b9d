// SPDX-License-Identifier: GPL-3.0-or-later
// Topics of the manual for widgets. F1 shows the topic of the focused widget, or of its nearest
// ancestor that has a topic.
#pragma once

#include <QString>
#include <optional>

#include "core/base/result.h"

class QWidget;

namespace trainyard::ui {

// Sets the topic of a widget: a page such as "canvas.md", a section, or another name that the
// manual can look up.
void set_manual_topic(QWidget* widget, const QString& topic);
// Sets the widget's part of the path of an experiment's field. The full path consists of the parts
// of its ancestors, followed by its own part.
void set_manual_field(QWidget* widget, const QString& part);
void set_manual_problem(QWidget* widget, const std::optional<base::Problem>& problem);

struct ManualTopic {
  QString topic, field, panel;  // panel: name of the dock that contains the widget
  std::optional<base::Problem> problem;
};
// Returns the topic of a widget or of its nearest ancestor that has one; a topic without content if
// `widget` is null.
ManualTopic manual_topic_of(const QWidget* widget);

}  // namespace trainyard::ui
