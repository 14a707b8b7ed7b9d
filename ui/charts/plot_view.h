// SPDX-License-Identifier: GPL-3.0-or-later
// A live chart. Series of any length are identified by id and thinned to about two points per
// pixel. Thinning keeps minima and maxima, and a badge shows that points are thinned. A line is
// broken where nothing was logged. Charts have a linear or logarithmic scale, smoothing, a legend,
// a crosshair, zoom and export. Appended points are drawn at the next frame, at most 20 times a
// second. No operation scans a full history.
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

  // `unit`: unit of the values, such as "B/s"; the axis adds an SI prefix. `right_unit`: unit of
  // the series on the right side.
  void set_title(const QString& title, const QString& unit = {}, const QString& right_unit = {});
  QString title() const { return title_; }
  void set_help(const QString& help);  // sets the tool tip of the title: the meaning of a value
  // Makes a count, such as "ranks", the x axis instead of steps. The axis begins at 0 and has ticks
  // only at integers.
  void set_count_axis(const QString& name);
  QString counts() const { return count_name_; }
  // Lets the user choose a logged point: with the first entry of the chart's menu, or with Enter at
  // the crosshair. `text` is the menu entry; it says what choosing the point does.
  void enable_point_choice(const QString& text);
  // Sets the text that an empty chart shows: why it has no points, or what to do next.
  void set_empty_text(const QString& text);

  void put_series(const QString& id, const SeriesStyle& style);
  void remove_series(const QString& id);
  void order_series(
      const QStringList& ids);  // listed series first, in this order, also in the legend
  void clear_series();
  void append(const QString& id, std::span<const SeriesPoint> points);
  void set_marks(
      std::vector<PlotMark> marks);  // marks are above the lines; the x axis includes them
  void set_series_visible(const QString& id, bool visible);
  const PlotModel& model() const { return model_; }

  void set_x_axis(XAxis axis);  // resets the zoom
  void set_log(bool log);
  bool log() const { return map_.log; }
  void set_smoothing(
      double weight);  // weight of the moving average: 0 (off) to below 1; raw values stay, in pale
  // Sets whether the axes include all values. If not, values beyond the `AxisLimit` of their series
  // may be cut off.
  void set_full_range(bool whole);
  bool whole() const { return whole_; }
  void set_frozen(bool frozen);  // true: drawing stops, recording continues; a badge says so
  bool frozen() const { return frozen_; }
  void set_crosshair_group(CrosshairGroup* group);

  // Functions for zoom and pan. The visible range stays within the range that `home` shows. Boxes
  // and fractions are relative to the plot area, from its lower left corner.
  void home();
  void zoom_to(const QRectF& box);
  void zoom_at(const QPointF& fraction, double factor, bool vertical);
  void pan(const QPointF& by);
  // Returns the mapping from values to pixels. Its ranges of values are those of the last frame,
  // and its plot area is the current one.
  const PlotMap& shown() const { return map_; }
  QStringList badges() const { return canvas_->overlay().content().badges; }
  const PlotOverlay::Content& overlay() const { return canvas_->overlay().content(); }
  PlotCanvas& canvas() { return *canvas_; }
  PlotLegend& legend() { return *legend_; }
  QMenu& menu() { return *menu_; }  // the chart's menu; a card may add entries
  QWidget* drag_handle();           // the title

  void refresh();  // draws immediately, unless frozen; normally a timer calls it
  // Draws the title, the chart with every point, and the full legend. Used for exports.
  void render_full(QPainter& painter, const QRectF& target);
  QSize full_size() const;  // size of an exported image in which the chart is as large as on screen

  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;  // smallest size at which the chart is readable

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
  std::map<const PointSeries*, LineDrawing> drawings_;  // one drawing per series of the model
  std::optional<Span> zoom_x_, zoom_y_[2];
  std::optional<double> beyond_[2];  // by side: maximum value, if it is above the axis
  bool whole_ = false, frozen_ = false, thinned_ = false, legend_stale_ = true;
  CrosshairGroup own_group_;
  CrosshairGroup* group_ = nullptr;
  QTimer timer_;
  TintedLabel* heading_;
  QToolButton *log_button_, *menu_button_;
  QMenu* menu_;
  QAction *choose_ = nullptr,
          *full_range_action_ = nullptr;  // actions "choose a point" and "axes include all values"
  std::optional<double> menu_at_;         // crosshair position when the menu was requested
  PlotCanvas* canvas_;
  PlotLegend* legend_;
};

}  // namespace trainyard::ui
