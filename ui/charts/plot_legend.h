// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of a plot: one button a series, with its line as it is drawn; a press (or Space) shows
// and hides it. Many series scroll, so that the plot keeps its room.
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
      const std::vector<std::unique_ptr<PlotSeries>>& series);  // one entry a series, in order
  QToolButton* button(const QString& id) const;
  void set_most(int height);  // a legend that needs more scrolls; a row is always shown
  int full_height() const;    // of all rows at this width
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

// The line of a series as a small picture.
QPixmap line_sample(const SeriesStyle& style, QSize size, double ratio);

}  // namespace trainyard::ui
