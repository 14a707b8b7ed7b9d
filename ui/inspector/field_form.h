// SPDX-License-Identifier: GPL-3.0-or-later
// A form made from field descriptions: label, editor, reset to default, and below it what is wrong
// there. Fields that do not matter are hidden. Paths are relative to the form's document
// ("optimizer.kind"); of lists only those are shown whose elements fit into a row.
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
  QStringList hidden = {};                 // names of fields that are not for this form
  QStringList files = {};                  // names of texts that name files
  QMap<QString, QString> zero_texts = {};  // by name: what 0 means, where its help does not say
  QStringList without_default = {};        // names of fields whose default nobody would go back to
};

// Typed, not taken, and still in sight.
struct RefusedText {
  QString path, why;  // of its field
};

class FieldForm : public QWidget {
  Q_OBJECT
 public:
  explicit FieldForm(FormHints hints = {}, QWidget* parent = nullptr);
  ~FieldForm() override;

  void set_directory(const QString& directory);  // where file names start
  // Rows stay as long as the fields are the same, and so does what is being typed.
  void show_fields(const std::vector<base::FieldDescription>& fields, const base::Json& values);
  // Those whose place is this form's document, at one of `paths`, or below it.
  void show_problems(const base::Problems& problems, const QStringList& paths);
  void set_note(const QString& field,
                const QString& text);  // beside the value, for what follows from it; empty: none
  // An edit was not taken: says why at the field, and keeps the text until it is left.
  void refuse(const QString& path, const QString& why);
  std::optional<RefusedText> refused() const;  // that stands so, if any does
  void forget_refused();                       // the values are shown instead
  bool focus_field(const QString& path);       // the nearest field to it
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
  TintedLabel* add_text(Tint tint, int line);
  void connect_row(Row& row);
  void update_row(Row& row, const base::FieldDescription& field, const base::Json& value);
  void show_problem(Row& row);
  void set_refused(Row& row, const QString& why);
  void show_afresh(Row& row);
  bool can_reset(const base::FieldDescription& field) const;
  Row* find(const QString& path) const;  // the row of the first name of the path

  FormHints hints_;
  QString directory_;
  QGridLayout* grid_;
  std::vector<base::FieldDescription> fields_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace trainyard::ui
