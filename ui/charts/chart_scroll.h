// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QScrollArea>

#include "ui/charts/chart_grid.h"

namespace trainyard::ui {

// Scrolls a grid of charts and sets its page height.
class ChartScroll : public QScrollArea {
 public:
  explicit ChartScroll(ChartGrid* grid, QWidget* parent = nullptr)
      : QScrollArea(parent), grid_(grid) {
    setWidget(grid);
    setWidgetResizable(true);
    setFrameShape(QFrame::NoFrame);
  }
  ChartGrid& grid() { return *grid_; }

 protected:
  void resizeEvent(QResizeEvent* event) override {
    QScrollArea::resizeEvent(event);
    grid_->set_page(viewport()->height());
  }

 private:
  ChartGrid* grid_;
};

}  // namespace trainyard::ui
