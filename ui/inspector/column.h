// SPDX-License-Identifier: GPL-3.0-or-later
// Scrolled columns of the inspector: what is too long scrolls, and is never narrower than it needs.
#pragma once

#include <QScrollArea>

namespace trainyard::ui {

class Column : public QScrollArea {
  Q_OBJECT
 public:
  Column(QWidget* content, QWidget* parent);
  QSize minimumSizeHint() const override;

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;
};

// As high as its content where there is room for that; it gives way to what is below it, down to a few lines.
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
