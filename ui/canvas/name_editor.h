// SPDX-License-Identifier: GPL-3.0-or-later
// Edits a name where it stands. Return takes it, Escape does not; a refused name stays, with the
// reason under it.
#pragma once

#include <QLineEdit>
#include <functional>

namespace trainyard::ui {

class NameEditor : public QLineEdit {
  Q_OBJECT
 public:
  using Commit = std::function<QString(const QString& name)>;  // why it was refused; empty: taken

  NameEditor(QWidget* parent, const QRect& where, const QString& name,
             Commit commit);  // deletes itself when done
  void leave();               // what was typed is forgotten

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
