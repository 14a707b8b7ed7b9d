// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/field_text.h"

#include <QRegularExpression>

#include "core/base/field_description.h"
#include "core/base/json.h"
#include "ui/inspector/quantity.h"
#include "ui/model/text/count_text.h"
#include "ui/model/topology/topology_text.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;
using base::Json;

constexpr qsizetype kMaxZeroTextLength = 20;

}  // namespace

QString readable(const std::string& name) { return as_text(name).replace('_', ' '); }

// Returns the part of a field's help that explains the value 0: "never" for "...; 0: never".
QString zero_text(const FieldDescription& field) {
  static const QRegularExpression zero("\\b0: ([^;.,]+)");
  const QString text = zero.match(as_text(field.help)).captured(1).trimmed();
  return text.size() <= kMaxZeroTextLength ? text : QString();
}

QString problem_line(const base::Problem& problem) {
  QString line = as_text(problem.what);
  if (!problem.accepted.empty())
    line += field_text(" (accepted: %1)").arg(as_text(problem.accepted));
  return problem.advice.empty() ? line : line + ". " + as_text(problem.advice);
}

QString text_of_value(const FieldDescription& field, const Json& value, const QString& zero) {
  if (value.is_boolean()) return value.get<bool>() ? field_text("on") : field_text("off");
  if (value.is_number())
    return value.get<double>() == 0 && !zero.isEmpty()
               ? zero
               : format_quantity(value.get<double>(), as_text(field.unit));
  if (value.is_array())
    return value.empty() ? field_text("none")
                         : field_text("%n row(s)", plural(static_cast<std::int64_t>(value.size())));
  if (!value.is_string()) return {};
  const std::string string = value.get<std::string>();
  if (field.kind == base::FieldKind::choice) return readable(string);
  return string.empty() ? field_text("empty") : as_text(string);
}

QString help_of(const FieldDescription& field, const QString& zero) {
  QString help = "<p>" + as_text(field.help).toHtmlEscaped() + ".</p>";
  if (!field.unit.empty())
    help += "<p>" + field_text("Unit: %1").arg(as_text(field.unit).toHtmlEscaped()) + "</p>";
  return help + "<p>" +
         field_text("Default: %1")
             .arg(text_of_value(field, *field.default_value, zero).toHtmlEscaped()) +
         "</p>";
}

}  // namespace trainyard::ui
