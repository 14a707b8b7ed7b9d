// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/inspector/list_editor.h"

#include <QApplication>
#include <QGridLayout>
#include <QPushButton>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "core/base/field_description.h"
#include "core/base/json.h"
#include "ui/inspector/field_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"

namespace trainyard::ui {

using base::FieldDescription;
using base::FieldKind;
using base::Json;

bool ListEditor::can_edit(const FieldDescription& field) {
  return field.kind == FieldKind::list && field.element == FieldKind::document &&
         !field.fields.empty() &&
         std::ranges::none_of(field.fields, [](const FieldDescription& one) {
           return one.kind == FieldKind::document || one.kind == FieldKind::list;
         });
}

ListEditor::ListEditor(const FieldDescription& field, QWidget* parent)
    : FieldEditor(parent), field_(field), grid_(new QGridLayout) {
  auto* whole = new QWidget(this);
  auto* column = new QVBoxLayout(whole);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kGrid / 2);
  grid_->setContentsMargins(0, 0, 0, 0);
  grid_->setHorizontalSpacing(kGrid / 2);
  grid_->setVerticalSpacing(2);
  for (std::size_t f = 0; f < field_.fields.size(); ++f) {
    auto* heading = new TintedLabel(TextColor::dim, whole);
    heading->setText(label_of(field_.fields[f]));
    heading->setToolTip(help_of(field_.fields[f], {}));
    grid_->addWidget(heading, 0, static_cast<int>(f));
    grid_->setColumnStretch(static_cast<int>(f), 1);
    headings_.push_back(heading);
  }
  column->addLayout(grid_);
  add_ = new QPushButton(icon("add"), tr("Add"), whole);
  add_->setToolTip(tr("Add a row"));
  column->addWidget(add_, 0, Qt::AlignLeft);
  layout()->addWidget(whole);
  setFocusProxy(add_);
  connect(add_, &QPushButton::clicked, this, &ListEditor::append);
  // Emits `left` only when the focus leaves the list. While it moves between the rows, refused
  // input stays visible.
  connect(qApp, &QApplication::focusChanged, this, [this](QWidget* old, QWidget* now) {
    if (held() && old != nullptr && now != nullptr && isAncestorOf(old) && !isAncestorOf(now))
      emit left();
  });
  fill();
}

ListEditor::~ListEditor() = default;

FieldEditor* ListEditor::editor(int row, const QString& field) const {
  for (std::size_t f = 0; f < field_.fields.size() && row < count(); ++f)
    if (QString::fromStdString(field_.fields[f].name) == field)
      return rows_[static_cast<std::size_t>(row)].editors[f];
  return nullptr;
}

void ListEditor::show_value(const Json& value) {
  list_ = value.is_array() ? value : Json::array();
  fill();
}

void ListEditor::fill() {
  while (rows_.size() < list_.size()) add_row();
  while (rows_.size() > list_.size()) drop_last_row();
  for (std::size_t r = 0; r < rows_.size(); ++r)
    for (std::size_t f = 0; f < field_.fields.size(); ++f)
      rows_[r].editors[f]->set_value(
          list_[r].value(field_.fields[f].name, *field_.fields[f].default_value));
  for (QWidget* heading : headings_) heading->setVisible(!rows_.empty());
}

void ListEditor::add_row() {
  const int number = count(), line = number + 1;
  Row row;
  for (std::size_t f = 0; f < field_.fields.size(); ++f) {
    const FieldDescription& field = field_.fields[f];
    FieldEditor* editor = make_editor(field, {}, add_->parentWidget());
    editor->setToolTip(help_of(field, {}));
    editor->focusProxy()->setAccessibleName(tr("%1, row %2").arg(label_of(field)).arg(line));
    connect(editor, &FieldEditor::edited, this,
            [this, number, name = field.name](const Json& value) {
              list_[static_cast<std::size_t>(number)][name] = value;
              take(list_);
            });
    connect(editor, &FieldEditor::unreadable, this, &FieldEditor::unreadable);
    grid_->addWidget(editor, line, static_cast<int>(f));
    editor->show();
    row.editors.push_back(editor);
  }
  row.remove = new QToolButton(add_->parentWidget());
  row.remove->setIcon(icon("remove"));
  row.remove->setAutoRaise(true);
  row.remove->setToolTip(tr("Remove this row"));
  row.remove->setAccessibleName(tr("Remove row %1").arg(line));
  connect(row.remove, &QToolButton::clicked, this, [this, number] { remove(number); });
  grid_->addWidget(row.remove, line, static_cast<int>(field_.fields.size()));
  row.remove->show();
  rows_.push_back(std::move(row));
}

void ListEditor::drop_last_row() {
  for (FieldEditor* editor : rows_.back().editors) {
    editor->disconnect(this);
    editor->hide();
    editor->deleteLater();
  }
  rows_.back().remove->hide();
  rows_.back().remove->deleteLater();
  rows_.pop_back();
}

void ListEditor::append() {
  Json element = Json::object();
  for (const FieldDescription& field : field_.fields) element[field.name] = *field.default_value;
  list_.push_back(std::move(element));
  fill();
  rows_.back().editors.front()->setFocus(Qt::OtherFocusReason);
  take(list_);
}

void ListEditor::remove(int row) {
  list_.erase(static_cast<std::size_t>(row));
  add_->setFocus(Qt::OtherFocusReason);
  fill();
  take(list_);
}

}  // namespace trainyard::ui
