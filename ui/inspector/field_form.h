// SPDX-License-Identifier: GPL-3.0-or-later
// Form generated from field descriptions: label, editor, reset button, and below it the problems of
// the field. Unused fields are hidden. Paths are relative to the form's document
// ("optimizer.kind"). Lists are shown only if their elements fit into a row.
#pragma once

#include <QMap>
#include <QStringList>
#include <QWidget>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "ui/inspector/field_editor.h"
#include "ui/theme/tinted_label.h"

class QGridLayout;
class QToolButton;

namespace trainyard::ui {

struct FormHints {
  QStringList hidden = {};                 // names of fields omitted from this form
  QStringList files = {};                  // names of texts that name files
  QMap<QString, QString> zero_texts = {};  // by name: meaning of 0, if the help does not explain it
  QStringList without_default = {};        // names of fields whose default is not useful
};

// Refused input that is still visible.
struct RefusedText {
  QString path, why;  // path of the field, and the reason
};

class FieldForm : public QWidget {
  Q_OBJECT
 public:
  explicit FieldForm(FormHints hints = {}, QWidget* parent = nullptr);
  ~FieldForm() override;

  void set_directory(const QString& directory);  // base of relative file names
  // Rows are kept while the fields are the same, and with them unfinished input.
  void show_fields(const std::vector<base::FieldDescription>& fields, const base::Json& values);
  // Shows the problems at or below one of `paths`, the places of this form's document.
  void show_problems(const base::Problems& problems, const QStringList& paths);
  void set_note(const QString& field,
                // text beside the value that states its consequences; empty: no text
                const QString& text);
  // Shows at the field why an edit was refused, and keeps the text until it is left.
  void refuse(const QString& path, const QString& why);
  std::optional<RefusedText> refused() const;  // refused input that is still visible, if any
  void forget_refused();                       // shows the values instead
  bool focus_field(const QString& path);       // the field nearest to the path
  FieldEditor* editor(const QString& path) const;
  QString problem_text(const QString& path) const;
  bool field_shown(const QString& path) const;

 signals:
  void edited(const QString& path, const base::Json& value);
  void refused_changed();

 protected:
  void changeEvent(QEvent* event) override;

 private:
  struct Row;
  void align_labels();
  void rebuild(const std::vector<base::FieldDescription>& fields);
  void add_row(const base::FieldDescription& field, int line);
  void add_child(const base::FieldDescription& field, int line);
  TintedLabel* add_text(TextColor tint, int line);
  void connect_row(Row& row);
  void update_row(Row& row, const base::FieldDescription& field, const base::Json& value);
  void show_problem(Row& row);
  void set_refused(Row& row, const QString& why);
  void reset_row(Row& row);
  bool can_reset(const base::FieldDescription& field) const;
  Row* find(const QString& path) const;  // the row of the path's first name

  FormHints hints_;
  QString directory_;
  QGridLayout* grid_;
  std::vector<base::FieldDescription> fields_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace trainyard::ui
