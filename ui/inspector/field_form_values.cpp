// SPDX-License-Identifier: GPL-3.0-or-later
// Content of a form's rows: values, problems and refused input.
#include <algorithm>

#include "core/base/field_description.h"
#include "core/base/json.h"
#include "ui/inspector/field_row.h"
#include "ui/inspector/field_text.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;
using base::Json;

// True if the field's own rules accept its default. They refuse the default of a required field.
bool default_is_valid(const FieldDescription& field) {
  const Json& value = *field.default_value;
  const double size = value.is_number() ? value.get<double>()
                      : value.is_string()
                          ? static_cast<double>(value.get_ref<const std::string&>().size())
                          : 0;
  return size >= field.range.low && size <= field.range.high;
}

// True if the problem is at one of the paths `places`. For a list, problems inside its elements are
// included: "weights[2].a".
bool is_at(const base::Problem& problem, const QStringList& places, bool list) {
  const QString where = QString::fromStdString(problem.where);
  return places.contains(where) ||
         (list && places.contains(where.section('[', 0, where.count('[') - 1)) &&
          where.contains('['));
}

// True if the form shows a row for the field. A nested document has a row if at least one of its
// fields is used.
bool has_row(const FieldDescription& field) {
  return field.used && (field.kind != base::FieldKind::document ||
                        std::ranges::any_of(field.fields, &FieldDescription::used));
}

QString first_name(const QString& path) { return path.section('.', 0, 0).section('[', 0, 0); }
QString rest_of(const QString& path) { return path.section('.', 1); }

}  // namespace

void FieldForm::update_row(Row& row, const FieldDescription& field, const Json& value) {
  const bool used = has_row(field);
  for (QWidget* widget : row.widgets())
    if (widget != row.reset) widget->setVisible(used);
  row.field.used = used;
  if (row.child) return row.child->show_fields(field.fields, value);
  row.value = value;
  row.editor->set_value(value);
  if (!row.editor->held()) set_refused(row, {});
  const QString reset =
      tr("Reset to the default: %1").arg(text_of_value(field, *field.default_value, row.zero));
  row.reset->setVisible(field.used && value != *field.default_value && can_reset(field));
  row.reset->setToolTip(reset);
  row.reset->setAccessibleName(label_of(field) + ": " + reset);
  row.editor->focusProxy()->setAccessibleName(label_of(field));
  row.note->setVisible(field.used && !row.note->text().isEmpty());
  show_problem(row);
}

bool FieldForm::can_reset(const FieldDescription& field) const {
  return default_is_valid(field) &&
         !hints_.without_default.contains(QString::fromStdString(field.name));
}

void FieldForm::set_refused(Row& row, const QString& why) {
  if (why == row.refused) return;
  row.refused = why;
  show_problem(row);
  emit refused_changed();
}

// Shows the stored value of the field again and discards the input of the row.
void FieldForm::reset_row(Row& row) {
  row.editor->reset_value(row.value);
  set_refused(row, {});
}

void FieldForm::forget_refused() {
  for (const auto& row : rows_) {
    if (row->child) row->child->forget_refused();
    else if (!row->refused.isEmpty()) reset_row(*row);
  }
}

void FieldForm::show_problem(Row& row) {
  if (row.child) return;
  const QString& text = row.refused.isEmpty() ? row.found : row.refused;
  row.problem->setText(text);
  row.problem->setVisible(row.field.used && !text.isEmpty());
  row.editor->focusProxy()->setAccessibleDescription(
      text.isEmpty() ? QString::fromStdString(row.field.help) : tr("Problem: %1").arg(text));
}

void FieldForm::show_problems(const base::Problems& problems, const QStringList& paths) {
  for (const auto& row : rows_) {
    QStringList places;
    for (const QString& path : paths)
      places << (path.isEmpty() ? row->name : path + "." + row->name);
    if (row->child) {
      row->child->show_problems(problems, places);
      continue;
    }
    QStringList texts;
    for (const base::Problem& problem : problems)
      if (is_at(problem, places, row->field.kind == base::FieldKind::list))
        texts << problem_line(problem);
    row->found = texts.join("\n");
    show_problem(*row);
  }
}

void FieldForm::set_note(const QString& field, const QString& text) {
  Row* row = find(field);
  if (row == nullptr) return;
  if (row->child) return row->child->set_note(rest_of(field), text);
  row->note->setText(text);
  row->note->setVisible(row->field.used && !text.isEmpty());
}

void FieldForm::refuse(const QString& path, const QString& why) {
  Row* row = find(path);
  if (row == nullptr) return;
  if (row->child) return row->child->refuse(rest_of(path), why);
  row->editor->hold(row->value);
  set_refused(*row, why);
}

std::optional<RefusedText> FieldForm::refused() const {
  for (const auto& row : rows_) {
    auto inner = row->child ? row->child->refused() : std::nullopt;
    if (!inner && row->refused.isEmpty()) continue;
    return inner ? RefusedText{row->name + "." + inner->path, inner->why}
                 : RefusedText{row->name, row->refused};
  }
  return {};
}

FieldForm::Row* FieldForm::find(const QString& path) const {
  const auto at =
      std::ranges::find(rows_, first_name(path), [](const auto& row) { return row->name; });
  return at == rows_.end() ? nullptr : at->get();
}

FieldEditor* FieldForm::editor(const QString& path) const {
  const Row* row = find(path);
  return row == nullptr ? nullptr : row->child ? row->child->editor(rest_of(path)) : row->editor;
}

QString FieldForm::problem_text(const QString& path) const {
  const Row* row = find(path);
  if (row == nullptr) return {};
  return row->child                 ? row->child->problem_text(rest_of(path))
         : row->problem->isHidden() ? QString()
                                    : row->problem->text();
}

bool FieldForm::field_shown(const QString& path) const {
  const Row* row = find(path);
  return row != nullptr && row->field.used &&
         (!row->child || rest_of(path).isEmpty() || row->child->field_shown(rest_of(path)));
}

bool FieldForm::focus_field(const QString& path) {
  Row* row = path.isEmpty() && !rows_.empty() ? rows_.front().get() : find(path);
  if (row == nullptr) return false;
  if (row->child) return row->child->focus_field(rest_of(path));
  row->editor->setFocus(Qt::ShortcutFocusReason);
  return true;
}

}  // namespace trainyard::ui
