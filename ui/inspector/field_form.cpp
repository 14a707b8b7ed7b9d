// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/field_form.h"

#include <QEvent>
#include <QGridLayout>
#include <QToolButton>
#include <algorithm>

#include "core/base/field_description.h"
#include "core/base/json.h"
#include "ui/inspector/field_row.h"
#include "ui/inspector/field_text.h"
#include "ui/inspector/list_editor.h"
#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

using base::FieldDescription;
using base::FieldKind;
using base::Json;

constexpr int kLabelWidth = 14 * kGrid;

enum FormColumn { label_column, editor_column, reset_column };

bool same_shape(const std::vector<FieldDescription>& a, const std::vector<FieldDescription>& b) {
  return std::ranges::equal(a, b, [](const FieldDescription& x, const FieldDescription& y) {
    return x.name == y.name && x.kind == y.kind && x.choices == y.choices &&
           same_shape(x.fields, y.fields);
  });
}

}  // namespace

FieldForm::FieldForm(FormHints hints, QWidget* parent)
    : QWidget(parent), hints_(std::move(hints)), grid_(new QGridLayout(this)) {
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setHorizontalSpacing(kGrid);
  grid_->setVerticalSpacing(kGrid / 2);
  grid_->setColumnStretch(editor_column, 1);
  align_labels();
}

// Sets a fixed width of the labels, so that the editors of forms below each other are aligned.
void FieldForm::align_labels() {
  grid_->setColumnMinimumWidth(label_column, Theme::instance().pixels(kLabelWidth));
}

void FieldForm::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange) align_labels();
}

FieldForm::~FieldForm() = default;

void FieldForm::set_directory(const QString& directory) {
  if (directory == directory_) return;
  directory_ = directory;
  // Builds the rows with file fields again, because their file dialogs start in this directory.
  if (!hints_.files.isEmpty()) fields_.clear();
}

void FieldForm::show_fields(const std::vector<FieldDescription>& fields, const Json& values) {
  if (fields_.empty() || !same_shape(fields, fields_)) rebuild(fields);
  fields_ = fields;
  for (const auto& row : rows_)
    for (const FieldDescription& field : fields)
      if (row->name == QString::fromStdString(field.name))
        update_row(*row, field, values.value(field.name, Json()));
}

void FieldForm::rebuild(const std::vector<FieldDescription>& fields) {
  for (const auto& row : rows_)
    if (row->editor) row->editor->disconnect(this);  // deleting a focused editor would emit `left`
  rows_.clear();
  qDeleteAll(findChildren<QWidget*>(Qt::FindDirectChildrenOnly));
  int line = 0;
  for (const bool document :
       // Adds nested documents last. A field below a nested document would look like one of the
       // nested document's fields.
       {false, true})
    for (const FieldDescription& field : fields) {
      if ((field.kind == FieldKind::list && !ListEditor::can_edit(field)) ||
          (field.kind == FieldKind::document) != document)
        continue;
      if (hints_.hidden.contains(QString::fromStdString(field.name))) continue;
      if (document) add_child(field, line);
      else add_row(field, line);
      line += 3;
    }
}

void FieldForm::add_row(const FieldDescription& field, int line) {
  Row& row = *rows_.emplace_back(std::make_unique<Row>());
  row.name = QString::fromStdString(field.name);
  row.field = field;
  row.label = new TintedLabel(TextColor::dim, this);
  row.label->setText(label_of(field));
  row.label->setAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  row.zero = hints_.zero_texts.value(row.name, zero_text(field));
  if (field.kind == FieldKind::list) row.editor = new ListEditor(field, this);
  else
    row.editor =
        make_editor(field,
                    {hints_.files.contains(row.name), directory_, row.zero,
                     hints_.suggestions.value(row.name), hints_.empty_texts.value(row.name)},
                    this);
  row.editor->setObjectName(row.name);
  set_manual_field(row.editor, row.name);
  row.label->setBuddy(row.editor);
  row.reset = new QToolButton(this);
  row.reset->setIcon(icon("undo"));
  row.reset->setAutoRaise(true);
  set_manual_field(row.reset, row.name);
  // Every row has space for a reset button, so that editors do not move when the button appears.
  grid_->setColumnMinimumWidth(reset_column, row.reset->sizeHint().width());
  for (QWidget* widget : {static_cast<QWidget*>(row.label), static_cast<QWidget*>(row.editor)})
    widget->setToolTip(help_of(field, row.zero));
  grid_->addWidget(row.label, line, label_column);
  grid_->addWidget(row.editor, line, editor_column);
  grid_->addWidget(row.reset, line, reset_column);
  row.note = add_text(TextColor::dim, line + 1);
  row.problem = add_text(TextColor::error, line + 2);
  connect_row(row);
}

TintedLabel* FieldForm::add_text(TextColor tint, int line) {
  TintedLabel* text = paragraph(tint, this);
  text->hide();
  grid_->addWidget(text, line, editor_column, 1, 2);
  return text;
}

void FieldForm::add_child(const FieldDescription& field, int line) {
  Row& row = *rows_.emplace_back(std::make_unique<Row>());
  row.name = QString::fromStdString(field.name);
  row.field = field;
  row.label = new TintedLabel(TextColor::text, this, 1, true);
  row.label->setText(label_of(field));
  row.label->setContentsMargins(0, kGrid, 0, 0);
  row.label->setToolTip(QString::fromStdString(field.help));
  row.child = new FieldForm({}, this);
  set_manual_field(row.child, row.name);
  grid_->addWidget(row.label, line, label_column, 1, 3);
  grid_->addWidget(row.child, line + 1, label_column, 1, 3);
  connect(row.child, &FieldForm::edited, this,
          [this, name = row.name](const QString& path, const Json& value) {
            emit edited(name + "." + path, value);
          });
  connect(row.child, &FieldForm::refused_changed, this, &FieldForm::refused_changed);
}

void FieldForm::connect_row(Row& row) {
  const auto edit = [this, &row](const Json& value) {
    row.refused.clear();
    emit edited(row.name, value);
    show_problem(row);
    emit refused_changed();
  };
  connect(row.editor, &FieldEditor::edited, this, edit);
  connect(row.reset, &QToolButton::clicked, this, [this, &row, edit] {
    row.editor->setFocus();  // moves the focus away before the button is hidden
    row.editor->reset_value(*row.field.default_value);
    edit(*row.field.default_value);
  });
  connect(row.editor, &FieldEditor::unreadable, this,
          [this, &row](const QString& why) { refuse(row.name, why); });
  connect(row.editor, &FieldEditor::left, this, [this, &row] { reset_row(row); });
}

}  // namespace trainyard::ui
