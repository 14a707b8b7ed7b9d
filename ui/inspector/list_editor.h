// SPDX-License-Identifier: GPL-3.0-or-later
// Editor of a list of documents, such as the averaging weights of pairs of ranks or the places of
// layers. Each document has a row of editors with a button that removes the document; a button
// below the rows adds a document. The editor's value is the full list.
#pragma once

#include <vector>

#include "core/base/json.h"
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

  // True for a list of documents that fit into a row: without nested documents or lists.
  static bool can_edit(const base::FieldDescription& field);

  int count() const { return static_cast<int>(rows_.size()); }
  FieldEditor* editor(int row, const QString& field) const;  // null if there is no such editor
  QPushButton* adder() const { return add_; }
  QToolButton* remover(int row) const { return rows_.at(static_cast<std::size_t>(row)).remove; }

 private:
  struct Row {
    std::vector<FieldEditor*> editors;  // in the order of the fields
    QToolButton* remove = nullptr;
  };

  void show_value(const base::Json& value) override;
  void add_row();
  void drop_last_row();
  void fill();
  void append();
  void remove(int row);

  base::FieldDescription field_;
  base::Json list_ = base::Json::array();  // list as shown
  std::vector<Row> rows_;
  QGridLayout* grid_;
  std::vector<QWidget*> headings_;
  QPushButton* add_;
};

}  // namespace trainyard::ui
