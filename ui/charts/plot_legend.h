// SPDX-License-Identifier: GPL-3.0-or-later
// The legend of a plot: one button a series, with its line as it is drawn; a press (or Space) shows and hides it.
#pragma once

#include <QToolButton>
#include <QWidget>
#include <map>
#include <vector>

#include "ui/charts/plot_model.h"

namespace trainyard::ui {

class FlowLayout;

class PlotLegend : public QWidget {
  Q_OBJECT
 public:
  explicit PlotLegend(QWidget* parent = nullptr);
  void show_series(const std::vector<std::unique_ptr<PlotSeries>>& series);  // one entry a series, in order
  QToolButton* button(const QString& id) const;
  QSize sizeHint() const override;

 signals:
  void toggled(const QString& id, bool visible);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  QToolButton* make_button(const QString& id);
  void set_order(const std::vector<std::unique_ptr<PlotSeries>>& series);
  FlowLayout* layout_;
  std::vector<std::pair<QString, QToolButton*>> buttons_;
};

// The line of a series as a small picture.
QPixmap line_sample(const SeriesStyle& style, QSize size, double ratio);

}  // namespace trainyard::ui
