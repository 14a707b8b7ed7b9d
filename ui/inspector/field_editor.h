// SPDX-License-Identifier: GPL-3.0-or-later
// The editor of one field, made from its description alone: it shows a JSON value and says what a
// person makes of it.
#pragma once

#include <QWidget>

#include "core/base/field_description.h"

namespace trainyard::ui {

class FieldEditor : public QWidget {
  Q_OBJECT
 public:
  // Text and caret stay when the value is the one that is shown already, or held for.
  void set_value(const base::Json& value);
  void reset_value(const base::Json& value);  // shows it afresh, whatever was typed
  // What was typed was not taken: the text stays until Esc, until the editor is left, or until the
  // value is another one than this.
  void hold(const base::Json& value);
  bool held() const { return held_; }

 signals:
  void edited(const base::Json& value);
  void unreadable(const QString& why);
  void left();  // the focus went away, or Esc gave up what was not taken

 protected:
  explicit FieldEditor(QWidget* parent);
  void adopt(QWidget* editor);  // the one that takes the focus
  virtual void show_value(const base::Json& value) = 0;
  void take(const base::Json& value);  // typed or chosen by a person
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  base::Json value_;
  bool held_ = false;
};

struct EditorStyle {
  bool file = false;  // a text that names a file: with a button to choose one
  QString directory;  // where relative names start
  QString zero_text;  // shown for 0; empty: the number
};
// Of every kind but documents and lists.
FieldEditor* make_editor(const base::FieldDescription& field, const EditorStyle& style,
                         QWidget* parent);

}  // namespace trainyard::ui
