// SPDX-License-Identifier: GPL-3.0-or-later
// The editor of a list of documents, as weights of pairs or places of layers: a row of editors for
// each, one to add another, and one in every row to remove it. Its value is the whole list.
#pragma once

#include <vector>

#include "ui/inspector/field_editor.h"

class QGridLayout;
class QPushButton;
class QToolButton;

namespace trainyard::ui {

class ListEditor : public FieldEditor {
  Q_OBJECT
 public:
  ListEditor(const base::FieldDescription& field, QWidget* parent);
  ~ListEditor() override;

  // Whether a list is of documents that a row can hold: without documents or lists in them.
  static bool can_edit(const base::FieldDescription& field);

  int count() const { return static_cast<int>(rows_.size()); }
  FieldEditor* editor(int row, const QString& field) const;  // null: there is none
  QPushButton* adder() const { return add_; }
  QToolButton* remover(int row) const { return rows_.at(static_cast<std::size_t>(row)).remove; }

 private:
  struct Row {
    std::vector<FieldEditor*> editors;  // by field
    QToolButton* remove = nullptr;
  };

  void show_value(const base::Json& value) override;
  void add_row();
  void drop_last_row();
  void fill();
  void append();
  void remove(int row);

  base::FieldDescription field_;
  base::Json list_ = base::Json::array();  // as it is shown
  std::vector<Row> rows_;
  QGridLayout* grid_;
  std::vector<QWidget*> headings_;
  QPushButton* add_;
};

}  // namespace trainyard::ui
