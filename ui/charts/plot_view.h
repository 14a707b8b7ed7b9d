// SPDX-License-Identifier: GPL-3.0-or-later
// A live chart: series of unlimited length by id, thinned to about two points a pixel (minimum and
// maximum kept, and a badge says so), broken where nothing was logged, with linear and logarithmic
// scale, smoothing, legend, crosshair, zoom and export. Points that are appended are drawn at the
// next frame, at most 20 a second; nothing scans a whole history.
#pragma once

#include <QTimer>
#include <QWidget>
#include <map>

#include "ui/charts/crosshair_group.h"
#include "ui/charts/plot_canvas.h"
#include "ui/charts/plot_mark.h"
#include "ui/charts/plot_model.h"
#include "ui/charts/plot_scale.h"

class QAction;
class QMenu;
class QToolButton;

namespace trainyard::ui {

class PlotLegend;
class TintedLabel;

class PlotView : public QWidget {
  Q_OBJECT
 public:
  explicit PlotView(QWidget* parent = nullptr);

  // `unit` as in "B/s"; the axis shows it with a prefix. `right_unit` is that of the series of the
  // right side.
  void set_title(const QString& title, const QString& unit = {}, const QString& right_unit = {});
  QString title() const { return title_; }
  void set_help(const QString& help);  // what a value of it is: the tool tip of its title
  // Of a chart over a count of things ("ranks") instead of steps: it begins at 0, and ticks stand
  // at whole numbers.
  void set_counts(const QString& name);
  QString counts() const { return count_name_; }
  // Points lead somewhere: first in the menu, and by Enter at the crosshair, one can be chosen.
  // `text` says what for.
  void offer_points(const QString& text);
  void set_empty_text(const QString& text);  // why there is no point, or what to do next

  void put_series(const QString& id, const SeriesStyle& style);
  void remove_series(const QString& id);
  void order_series(
      const QStringList& ids);  // lines of the list come first, in its order, in the legend too
  void clear_series();
  void append(const QString& id, std::span<const SeriesPoint> points);
  void set_marks(std::vector<PlotMark> marks);  // over the lines; the axis goes as far as they do
  void set_series_visible(const QString& id, bool visible);
  const PlotModel& model() const { return model_; }

  void set_x_axis(XAxis axis);  // goes home
  void set_log(bool log);
  bool log() const { return map_.log; }
  void set_smoothing(
      double weight);  // of the moving average, 0 (off) to below 1; the raw line stays, pale
  void set_whole(
      bool whole);  // the axes go as far as all values do; else as far as each line asks for
  bool whole() const { return whole_; }
  void set_frozen(bool frozen);  // keeps recording, stops drawing; a badge says so
  bool frozen() const { return frozen_; }
  void set_crosshair_group(CrosshairGroup* group);

  // Views, never of more than home shows. Box and fractions are of the plot area, from the lower
  // left.
  void home();
  void zoom_to(const QRectF& box);
  void zoom_at(const QPointF& fraction, double factor, bool vertical);
  void pan(const QPointF& by);
  const PlotMap& shown() const { return map_; }  // as of the last frame, where the axes are now
  QStringList badges() const { return canvas_->overlay().content().badges; }
  const PlotOverlay::Content& overlay() const { return canvas_->overlay().content(); }
  PlotCanvas& canvas() { return *canvas_; }
  PlotLegend& legend() { return *legend_; }
  QMenu& menu() { return *menu_; }  // of the chart; a card may add to it
  QWidget* drag_handle();           // the title

  void refresh();  // draws now, unless frozen; else the timer does
  // Draws title, chart and the whole legend with every point, nothing thinned: for exports.
  void render_full(QPainter& painter, const QRectF& target);
  QSize full_size() const;  // for a picture whose chart is as large as on screen

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;  // that can still be read

 signals:
  void log_changed(bool log);
  void point_chosen(const QString& series, const SeriesPoint& point);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void showEvent(QShowEvent* event) override;

 private:
  void build_header();
  void build_menu();
  void connect_canvas();
  void restyle();
  void follow_area();
  void schedule();
  void draw(int pixels);
  void choose_spans();
  std::optional<Span> across() const;
  Span side_span(Side side, Span x) const;
  std::optional<double> above(Side side) const;
  void show_axes();
  AxisUnit across_unit() const;
  void draw_lines(int pixels);
  void draw_one(const PlotSeries& series, int pixels, std::vector<DrawnSeries>& out);
  void show_overlay();
  std::vector<PlotOverlay::Mark> drawn_marks() const;
  void read_at(double x, PlotOverlay::Content& content) const;
  QString text_of(const Reading& reading, double x) const;
  std::optional<QString> sum_of(const std::vector<Reading>& readings) const;
  QStringList current_badges() const;
  void hover(std::optional<double> fraction);
  void walk(int points);
  void choose_point(std::optional<double> x);
  void show_menu(const QPoint& global);
  void ask_and_save(const QString& kind);

  QString title_, unit_, right_unit_, empty_text_, count_name_;
  PlotModel model_;
  PlotStyle style_;
  PlotMap map_;
  std::vector<PlotMark> marks_;
  std::map<const PointSeries*, LineDrawing> drawings_;  // of the model's
  std::optional<Span> zoom_x_, zoom_y_[2];
  std::optional<double> beyond_[2];  // the greatest value, where that lies above the axis
  bool whole_ = false, frozen_ = false, thinned_ = false, legend_stale_ = true;
  CrosshairGroup own_group_;
  CrosshairGroup* group_ = nullptr;
  QTimer timer_;
  TintedLabel* heading_;
  QToolButton *log_button_, *menu_button_;
  QMenu* menu_;
  QAction *choose_ = nullptr,
          *whole_action_ = nullptr;  // of points that lead somewhere; of axes that may be cut
  std::optional<double> menu_at_;    // where the crosshair stood when the menu was asked for
  PlotCanvas* canvas_;
  PlotLegend* legend_;
};

}  // namespace trainyard::ui
