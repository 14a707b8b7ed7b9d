// SPDX-License-Identifier: GPL-3.0-or-later
// Editor of one field, generated from its description. It shows a JSON value and emits the user's
// changes.
#pragma once

#include <QStringList>
#include <QWidget>
#include <functional>

#include "core/base/field_description.h"

namespace trainyard::ui {

class FieldEditor : public QWidget {
  Q_OBJECT
 public:
  // Shows a value. If the editor already shows this value, its text and cursor stay as they are.
  void set_value(const base::Json& value);
  void reset_value(const base::Json& value);  // shows the value and discards the input
  // Keeps refused input visible. It disappears when Esc is pressed, when the editor loses the
  // focus, or when the field's value is no longer `value`.
  void hold(const base::Json& value);
  bool held() const { return held_; }

 signals:
  void edited(const base::Json& value);
  void unreadable(const QString& why);
  void left();  // the focus left, or Esc discarded refused input

 protected:
  explicit FieldEditor(QWidget* parent);
  void adopt(QWidget* editor);  // makes `editor` the widget that takes the focus
  virtual void show_value(const base::Json& value) = 0;
  void take(const base::Json& value);  // handles a value typed or chosen by the user
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  base::SharedJson value_;
  bool held_ = false;
};

struct EditorStyle {
  bool file = false;  // the text is a file name: adds a button to choose a file
  QString directory;  // directory that relative file names start from
  QString zero_text;  // text shown for the value 0; empty: shows the number
  // Returns values that a text often has, for completion and a menu. Null: there are none.
  std::function<QStringList()> suggestions = {};
  QString empty_text = {};  // text shown in place of an empty text, and as its entry in the menu
};
// Creates an editor for any kind of field except documents and lists.
FieldEditor* make_editor(const base::FieldDescription& field, const EditorStyle& style,
                         QWidget* parent);

}  // namespace trainyard::ui
