// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline of the run that is shown, with what steers it, the figures of what is seen, the
// truths that belong to them, and the selected op in full. Of a pipeline, also of one that is only
// drawn, it shows instead of lanes the cells of a step, as planned and as run.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>
#include <stop_token>

#include "ui/model/run.h"
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

  void set_run(Run* run);                          // null: none; one that is deleted disappears
  void set_drawing(const KnownPipeline& drawing);  // the plan of what is drawn, where that is a
                                                   // pipeline; null: it is none
  void set_badges(const QStringList& truths);
  void set_frozen(bool frozen);  // with the charts

  // Selects what that rank pushed last by then, in seconds of the recording. False: no such op is
  // held (any more).
  bool show_push(int rank, double seconds);

  TimelineView& view() { return *view_; }
  PipelineView& pipeline() { return *pipeline_view_; }
  bool shows_pipeline() const;
  QString figures() const;        // as the lines say them
  QString selected_text() const;  // of the op, as the line says it
  QStringList badges() const;     // that are shown
  QAction& follow_action() { return *follow_; }
  QAction& plan_action() { return *in_plan_; }
  QAction& pipeline_action() { return *as_pipeline_; }
  QAction& step_action(int way) { return way < 0 ? *earlier_ : *later_; }

 signals:
  // An op was selected; `raise`: its line in the plan is to be seen.
  void op_selected(int rank, const QString& program, const QString& token, bool raise);
  // Likewise, in the plan of what is drawn.
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
  void ask_to_refresh();
  void refresh();
  void catch_up();
  void show_badges();
  void show_figures();
  void show_selected();
  void tell_selected(bool raise);
  void reckon_drawn();
  Times looked_at(int rank) const;
  QString why_empty() const;
  QString following_words() const;
  QString range_words() const;
  static QString formulas();

  QPointer<Run> run_;
  StepTimes steps_;
  QTimer soon_;
  TimelineView* view_;
  FiguresReader* reader_;
  PipelineView* pipeline_view_;
  PipelineReader* pipeline_;
  QStackedWidget* views_;
  QAction *follow_, *thin_, *in_plan_, *as_pipeline_, *earlier_, *later_;
  std::vector<QToolButton*> of_lanes_, of_pipeline_;  // what one view alone has
  QToolButton *to_pipeline_, *about_;
  TimelineLegend* legend_;
  TintedLabel *efficiency_, *communication_, *following_, *badge_line_, *selected_;
  QStringList truths_;
  bool drawn_asked_ = false;
  bool behind_ = false;  // what came while it was not seen is not shown yet
  QString drawn_;        // what the simulator says of the efficiency
  std::stop_source no_longer_drawn_;
};

}  // namespace trainyard::ui
