// SPDX-License-Identifier: GPL-3.0-or-later
// Form generated from field descriptions. Each row has a label, an editor and a reset button, with
// the problems of the field below them. Unused fields are hidden. Paths are relative to the form's
// document ("optimizer.kind"). A list is shown only if each of its elements fits into a row.
#pragma once

#include <QMap>
#include <QStringList>
#include <QWidget>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/base/result.h"
#include "ui/inspector/field_editor.h"
#include "ui/theme/tinted_label.h"

class QGridLayout;
class QToolButton;

namespace trainyard::ui {

struct FormHints {
  QStringList hidden = {};                 // names of fields omitted from this form
  QStringList files = {};                  // names of text fields that contain a file name
  QMap<QString, QString> zero_texts = {};  // by name: meaning of 0, if the help does not explain it
  // names of fields that get no reset button, because their default is not useful
  QStringList without_default = {};
  // by name: text shown for an empty text, for fields with suggestions
  QMap<QString, QString> empty_texts = {};
  QMap<QString, std::function<QStringList()>> suggestions =
      {};  // by name: frequent values of texts
};

// Refused input that an editor still shows.
struct RefusedText {
  QString path, why;  // path of the field, and why its input was refused
};

class FieldForm : public QWidget {
  Q_OBJECT
 public:
  explicit FieldForm(FormHints hints = {}, QWidget* parent = nullptr);
  ~FieldForm() override;

  // sets the directory that relative paths of files start from
  void set_directory(const QString& directory);
  // Shows the fields with their values. If the fields are the same as before, the rows and any
  // unfinished input are kept.
  void show_fields(const std::vector<base::FieldDescription>& fields, const base::Json& values);
  // Shows each problem at its field. `paths` are the paths of this form's document. There are
  // several if several objects are edited together.
  void show_problems(const base::Problems& problems, const QStringList& paths);
  // Shows a note below a field about the consequences of its value. An empty text removes the note.
  void set_note(const QString& field, const QString& text);
  // Shows at the field why an edit was refused, and keeps the refused text until the field is left.
  void refuse(const QString& path, const QString& why);
  std::optional<RefusedText> refused() const;  // refused input that is still visible, if any
  void forget_refused();                       // replaces the refused input by the values
  // Focuses the field at the path. If the path leads into a list, focuses the list; if it leads to
  // a nested document, focuses the document's first field.
  bool focus_field(const QString& path);
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
  Row* find(const QString& path) const;  // returns the row of the first field on the path

  FormHints hints_;
  QString directory_;
  QGridLayout* grid_;
  std::vector<base::FieldDescription> fields_;
  std::vector<std::unique_ptr<Row>> rows_;
};

}  // namespace trainyard::ui
