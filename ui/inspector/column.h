// SPDX-License-Identifier: GPL-3.0-or-later
// Scrollable columns of the inspector; never narrower than their content. The focused widget keeps
// its position in the window when content above it changes.
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
  void store_position();
  void keep_place();
  void run_after_layout(void (Column::*what)());  // calls `what` after the layout is updated

  QPointer<QWidget> focused_;
  int place_ = 0;  // distance of the focused widget from the top of the window
};

// Column at the top of the inspector. It is as high as its content if there is room. Otherwise it
// shrinks, down to a few lines, so that the widgets below it have room.
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
