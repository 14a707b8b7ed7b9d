// SPDX-License-Identifier: GPL-3.0-or-later
// What the colours of a timeline mean, in as many rows as they need.
#pragma once

#include <QWidget>

namespace trainyard::ui {

class TimelineLegend : public QWidget {
  Q_OBJECT
 public:
  explicit TimelineLegend(QWidget* parent = nullptr);
  void show_held_back(bool shown);  // whether that has an entry
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, fontMetrics().height() + 2}; }
  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  bool held_back_ = false;
};

}  // namespace trainyard::ui
