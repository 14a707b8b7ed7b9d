// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/canvas/name_editor.h"

#include <QKeyEvent>
#include <QToolTip>

#include "ui/theme/theme.h"

namespace trainyard::ui {

NameEditor::NameEditor(QWidget* parent, const QRect& where, const QString& name, Commit commit)
    : QLineEdit(name, parent), commit_(std::move(commit)), before_(name) {
  setObjectName("name_editor");
  setAccessibleName(tr("Name"));
  setMaxLength(64);
  setGeometry(where);
  show();
  setFocus(Qt::OtherFocusReason);
  selectAll();
}

void NameEditor::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    if (take()) leave();
  } else if (event->key() == Qt::Key_Escape) {
    leave();
  } else {
    QLineEdit::keyPressEvent(event);
  }
}

void NameEditor::focusOutEvent(QFocusEvent* event) {
  QLineEdit::focusOutEvent(event);
  if (left_ || event->reason() == Qt::PopupFocusReason) return;
  take();
  leave();
}

bool NameEditor::take() {
  const QString name = text().trimmed(), why = name == before_ ? QString() : commit_(name);
  if (why.isEmpty()) return true;
  QPalette red = palette();
  red.setColor(QPalette::Text, Theme::instance().colors().error);
  setPalette(red);
  QToolTip::showText(mapToGlobal(QPoint(0, height())), why, this);
  return false;
}

void NameEditor::leave() {
  if (left_) return;
  left_ = true;
  if (hasFocus()) parentWidget()->setFocus(Qt::OtherFocusReason);
  hide();
  deleteLater();
}

}  // namespace trainyard::ui
