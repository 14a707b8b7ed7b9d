// SPDX-License-Identifier: GPL-3.0-or-later
// Editor of one field, generated from its description. It shows a JSON value and emits the user's
// changes.
#pragma once

#include <QWidget>

#include "core/base/field_description.h"

namespace trainyard::ui {

class FieldEditor : public QWidget {
  Q_OBJECT
 public:
  // Sets the value. If the value is already shown, text and cursor stay.
  void set_value(const base::Json& value);
  void reset_value(const base::Json& value);  // shows it, discarding the input
  // Keeps refused input until Esc is pressed, the editor is left, or the value is no longer this
  // one.
  void hold(const base::Json& value);
  bool held() const { return held_; }

 signals:
  void edited(const base::Json& value);
  void unreadable(const QString& why);
  void left();  // the focus left, or Esc discarded refused input

 protected:
  explicit FieldEditor(QWidget* parent);
  void adopt(QWidget* editor);  // the widget that takes the focus
  virtual void show_value(const base::Json& value) = 0;
  void take(const base::Json& value);  // typed or chosen by the user
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  base::Json value_;
  bool held_ = false;
};

struct EditorStyle {
  bool file = false;  // a text with a file name: adds a button to choose one
  QString directory;  // base of relative names
  QString zero_text;  // shown for 0; empty: the number
};
// Supports every kind except documents and lists.
FieldEditor* make_editor(const base::FieldDescription& field, const EditorStyle& style,
                         QWidget* parent);

}  // namespace trainyard::ui
