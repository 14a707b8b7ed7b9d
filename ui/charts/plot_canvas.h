// SPDX-License-Identifier: GPL-3.0-or-later
// The chart widget. Qt Charts paints axes and grid, plot_lines paints lines, and plot_painter
// paints the overlay. Gestures are emitted as fractions of the plot area, with (0,0) at the lower
// left, so that they apply to both y axes.
#pragma once

#include <QtCharts/QCategoryAxis>
#include <QtCharts/QChart>
#include <QtCharts/QChartView>
#include <optional>

#include "ui/charts/plot_lines.h"
#include "ui/charts/plot_painter.h"
#include "ui/charts/plot_scale.h"

namespace trainyard::ui {

// State of an axis.
struct AxisState {
  Span range;
  std::vector<Tick> ticks;
  QString title;
  bool visible = true;
};

class PlotCanvas : public QChartView {
  Q_OBJECT
 public:
  explicit PlotCanvas(QWidget* parent = nullptr);

  void apply_style(const PlotStyle& style);
  void show_axes(const AxisState& x, const AxisState& left,
                 const AxisState& right);  // fast if nothing changed
  QRectF plot_area() const { return chart_->plotArea(); }
  int ticks_across() const;  // number of tick labels that fit
  int ticks_up() const;
  // True if the title fits below the x axis. If it does not fit, it must be omitted, because Qt
  // Charts would show dots instead.
  bool x_title_fits(const QString& title) const;
  PlotLines& lines() { return *lines_; }
  PlotOverlay& overlay() { return *overlay_; }
  QRectF band() const { return band_; }  // box that the user is dragging, in pixels
  void render_chart(QPainter& painter, const QRectF& target);

 signals:
  void area_changed();  // the plot area has changed, and the lines were moved to it
  void boxed(const QRectF& fractions);
  void wheeled(const QPointF& fraction, double factor, bool vertical);
  void panned(const QPointF& by);
  void home_requested();
  void hovered(std::optional<double> fraction);  // no value: the pointer has left the plot
  void walked(int points);                       // the crosshair was moved by keys
  void entered();                                // Enter was pressed
  void menu_requested(const QPoint& global);
  void band_changed();

 protected:
  bool viewportEvent(QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  enum class Drag { none, box, pan };
  QPointF fraction(const QPointF& at) const;
  void show_axis(QCategoryAxis& axis, AxisState& shown, const AxisState& wanted);
  void finish_box(const QPointF& at);
  void follow_area(const QRectF& area);

  QChart* chart_;
  QCategoryAxis *x_, *left_, *right_;
  AxisState shown_x_, shown_left_, shown_right_;
  PlotLines* lines_;
  PlotOverlay* overlay_;
  Drag drag_ = Drag::none;
  QPointF pressed_, last_;
  QRectF band_;
};

}  // namespace trainyard::ui
