// SPDX-License-Identifier: GPL-3.0-or-later
// Panel with the timeline of the displayed run, its controls, the efficiency and other numbers of
// the visible range, caveats, and the details of the selected op. For a pipeline, it can instead
// show the cells of a step, planned above executed. It does so even for a pipeline that is only
// drawn.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <stop_token>

#include "ui/model/runs/run.h"
#include "ui/timeline/figures_reader.h"
#include "ui/timeline/pipeline_reader.h"
#include "ui/timeline/pipeline_view.h"
#include "ui/timeline/timeline_view.h"

class QAction;
class QLabel;
class QStackedWidget;
class QToolButton;

namespace trainyard::ui {

class TimelineLegend;
class TintedLabel;

class TimelinePanel : public QWidget {
  Q_OBJECT
 public:
  explicit TimelinePanel(QWidget* parent = nullptr);
  ~TimelinePanel() override;

  void set_run(Run* run);  // null: none; a deleted run is removed
  // Sets the simulated plan of the current drawing; null if the drawing is not a pipeline.
  void set_drawing(const PipelinePlanPtr& drawing);
  void set_badges(const QStringList& caveats);
  void set_frozen(bool frozen);  // freezes the panel together with the charts

  // Selects and shows the last push of a rank that began up to a time, in seconds of the recording.
  // Returns false if no such op is stored.
  bool show_push(int rank, double seconds);

  TimelineView& view() { return *view_; }
  PipelineView& pipeline() { return *pipeline_view_; }
  bool shows_pipeline() const;
  QString figures() const;        // text about the visible range, as displayed
  QString selected_text() const;  // text about the selected op, as displayed
  QStringList badges() const;     // badges as displayed
  QAction& follow_action() { return *follow_; }
  QAction& plan_action() { return *plan_action_; }
  QAction& pipeline_action() { return *pipeline_action_; }
  QAction& step_action(int way) { return way < 0 ? *earlier_ : *later_; }

 signals:
  // Reports that an op of the run was selected. `raise`: true if the plan panel should show the
  // op's line.
  void op_selected(int rank, const QString& program, const QString& token, bool raise);
  // Reports that an op of the plan of the drawing was selected, instead of an op of the run.
  void drawn_op_selected(int rank, const QString& program, const QString& token, bool raise);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void build_bar();
  void build_lines();
  void build_foot();
  void build_pipeline();
  void zoom(double factor);
  void fit_views();
  void fit_steps();
  void show_pipeline();
  void follow_steps(bool following);
  void choose_step(int way);
  void cell_selected();
  void tell_cell(bool raise);
  void request_refresh();
  void refresh();
  void catch_up();
  void show_badges();
  void show_figures();
  void show_selected();
  void emit_selected(bool raise);
  void simulate_drawing();
  Times looked_at(int rank) const;
  QString why_empty() const;
  QString following_text() const;
  QString range_text() const;
  static QString formulas();

  QPointer<Run> run_;
  StepTimes steps_;
  QTimer delay_timer_;
  TimelineView* view_;
  FiguresCalculator* reader_;
  PipelineView* pipeline_view_;
  PipelineReader* pipeline_;
  QStackedWidget* views_;
  QAction *follow_, *thin_, *plan_action_, *pipeline_action_, *earlier_, *later_;
  // Buttons for the view of lanes only, and buttons for the view of pipeline cells only.
  std::vector<QToolButton*> lanes_controls_, pipeline_controls_;
  QToolButton *pipeline_button_, *help_button_;
  TimelineLegend* legend_;
  TintedLabel *efficiency_, *communication_, *following_, *badge_line_, *selected_;
  QStringList caveats_;
  bool drawn_requested_ = false;
  bool needs_refresh_ = false;  // data that arrived while the panel was hidden is not shown yet
  QString drawn_;               // text with the simulated efficiency
  std::stop_source drawing_changed_;
};

}  // namespace trainyard::ui
