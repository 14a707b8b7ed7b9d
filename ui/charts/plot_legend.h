// SPDX-License-Identifier: GPL-3.0-or-later
// Legend of a plot: one button per series, with a sample of its line. A press (or Space) shows or
// hides the series. A long legend scrolls, so that the plot keeps its room.
#pragma once

#include <QScrollArea>
#include <QToolButton>
#include <map>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

class FlowLayout;

class PlotLegend : public QScrollArea {
  Q_OBJECT
 public:
  explicit PlotLegend(QWidget* parent = nullptr);
  void show_series(
      const std::vector<std::unique_ptr<PlotSeries>>& series);  // one entry per series, in order
  QToolButton* button(const QString& id) const;
  void set_max_height(
      int height);          // maximum height, beyond which it scrolls; at least one row is shown
  int full_height() const;  // height of all rows at this width
  void render_full(QPainter& painter);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {}; }

 signals:
  void toggled(const QString& id, bool visible);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QToolButton* make_button(const QString& id);
  void set_order(const std::vector<std::unique_ptr<PlotSeries>>& series);
  QWidget* page_;
  FlowLayout* layout_;
  int most_ = QWIDGETSIZE_MAX;
  std::vector<std::pair<QString, QToolButton*>> buttons_;
};

// Returns an image that shows a sample of a series' line.
QPixmap line_sample(const SeriesStyle& style, QSize size, double ratio);

}  // namespace trainyard::ui
