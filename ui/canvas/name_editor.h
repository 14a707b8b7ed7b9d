// SPDX-License-Identifier: GPL-3.0-or-later
// In-place editor of a name. Return accepts the name, Escape cancels. A refused name stays in the
// editor, with the reason below it.
#pragma once

#include <QLineEdit>
#include <functional>

namespace trainyard::ui {

class NameEditor : public QLineEdit {
  Q_OBJECT
 public:
  // Function that takes the entered name. Returns the reason if it refuses the name; empty if it
  // accepts it.
  using Commit = std::function<QString(const QString& name)>;

  NameEditor(QWidget* parent, const QRect& where, const QString& name,
             Commit commit);  // the editor deletes itself when it closes
  void leave();               // discards the input

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;

 private:
  bool take();

  Commit commit_;
  QString before_;
  bool left_ = false;
};

}  // namespace trainyard::ui
