// SPDX-License-Identifier: GPL-3.0-or-later
// Scrolled columns of the inspector: what is too long scrolls, and is never narrower than it needs.
// What a person works in stays where it is in the window, whatever comes or goes above it.
#pragma once

#include <QPointer>
#include <QScrollArea>

namespace trainyard::ui {

class Column : public QScrollArea {
  Q_OBJECT
 public:
  Column(QWidget* content, QWidget* parent);
  QSize minimumSizeHint() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void remember_place();
  void keep_place();
  void soon(void (Column::*what)());  // once everything has its place

  QPointer<QWidget> focused_;
  int place_ = 0;  // of it, from the top of the window
};

// As high as its content where there is room for that; it gives way to what is below it, down to a
// few lines.
class Head : public Column {
  Q_OBJECT
 public:
  Head(QWidget* content, QWidget* parent);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 protected:
  void resizeEvent(QResizeEvent* event) override;
};

}  // namespace trainyard::ui
