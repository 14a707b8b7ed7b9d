// SPDX-License-Identifier: GPL-3.0-or-later
// Live charts of one run, with a line per rank, or of several overlaid runs, each in its own color.
// Because histories may be long, they are read a few milliseconds at a time. Meanwhile the lines
// grow from their first point on.
#pragma once

#include <QPointer>
#include <QStringList>
#include <QWidget>
#include <map>
#include <memory>
#include <vector>

#include "ui/charts/chart_grid.h"
#include "ui/charts/run_lines.h"
#include "ui/model/runs/run.h"

class QAction;
class QComboBox;
class QMenu;
class QSlider;
class QToolButton;

namespace trainyard::ui {

class FlowLayout;
class TintedLabel;

class RunCharts : public QWidget {
  Q_OBJECT
 public:
  explicit RunCharts(QWidget* parent = nullptr);
  ~RunCharts() override;

  // Sets the runs to show. A run's index in the list determines its color. The runs must outlive
  // this widget; a run that is deleted earlier is removed from the charts.
  void set_runs(const std::vector<Run*>& runs);
  // Sets the caveats that apply to all values: "EMULATED", "4 ranks share 2 cores: times include
  // waiting for each other".
  void set_badges(const QStringList& badges);
  void set_frozen(bool frozen);  // stops the charts, not the runs or their recording
  bool frozen() const;
  void set_x_axis(XAxis axis);
  void set_smoothing(double weight);
  void set_choice(const LineChoice& choice);
  void show_fault_marks(bool shown);  // shows or hides the marks of faults
  bool reading() const;               // true while the charts do not show the full histories yet
  std::int64_t steps() const;         // number of steps of the first run that the charts show

  PlotView& plot(ChartKind kind) const { return *plots_.at(kind); }
  ChartGrid& grid() { return *grid_; }
  QSize sizeHint() const override;                    // shows a full chart
  QAction* freeze_action() const { return freeze_; }  // checkable "Freeze charts", for menus
  QMenu& charts_menu() { return *charts_menu_; }

 signals:
  void frozen_changed(bool frozen);
  // The user chose a point on the staleness chart of a single run. `rank`: the worker that computed
  // the gradient. `seconds`: the time in the recording at which the server applied the gradient.
  void gradient_requested(int rank, double seconds);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  // A displayed run, with its lines and how far its history has been read.
  struct Shown {
    explicit Shown(const LineChoice& choice) : split(choice.step_time_of) {}
    QPointer<Run> run;
    QString prefix;
    ProgressCounter progress;
    StepSplit split;
    std::size_t known_series = 0;
    bool simulation_requested = false;
    QString not_simulated;  // why the run has no simulated time
    std::map<ChartKind, std::map<QString, LineReader>> readers;
    std::map<ChartKind, QStringList> order;  // order of the selected lines
  };

  void link_gradients();
  void build_bar();
  void build_choices(QWidget& bar);
  void build_menu_buttons(QWidget& bar);
  void fill_chart_menu();
  void fit_bar();
  bool leaves_chart(const QList<int>& badges) const;
  void show_badges(const QStringList& badges);
  void update_empty_texts();
  void mark_faults();
  QString why_not_simulated() const;
  void show_special_charts();
  void request_read();
  void read_some();
  void name_runs();
  bool read_portion(Shown& shown);
  void restart_lines(Shown& shown, const std::vector<ChartKind>& kinds);
  void request_simulation(Shown& shown);
  void simulate(Shown& shown);
  void take_simulated(const Run* run, const base::Result<SimulatedTime>& time);
  void plan_lines(Shown& shown);
  void plan_chart(Shown& shown, ChartKind kind);
  void drop_lines(Shown& shown, ChartKind kind);
  void order_lines(ChartKind kind);
  void offer_choices();
  void offer_bytes();
  std::optional<RunStyle> look_of(const Shown& shown) const;

  std::vector<std::unique_ptr<Shown>> runs_;
  std::stop_source no_longer_simulated_;
  QStringList names_;  // names of the runs, as in legends
  LineChoice choice_;
  CrosshairGroup crosshair_;
  std::map<ChartKind, PlotView*> plots_;
  ChartGrid* grid_;
  QAction *freeze_, *marks_;
  QComboBox *axis_, *segment_, *step_time_, *buffers_;
  QSlider* smoothing_;
  QMenu* charts_menu_;
  FlowLayout* bar_;
  std::vector<QWidget*> choices_;  // widgets on the bar above the charts
  // opens a menu with the choices; shown if the bar would otherwise take the room of a chart
  QToolButton* choices_button_;
  QToolButton* charts_button_;
  QStringList badges_;
  std::vector<TintedLabel*> badge_labels_;  // badges at the end of the bar
};

}  // namespace trainyard::ui
