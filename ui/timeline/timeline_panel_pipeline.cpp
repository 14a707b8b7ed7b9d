// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the timeline panel that is specific to pipelines. The view of lanes and the view of
// pipeline cells share the chosen step. If no step is chosen, the view of cells shows the last
// complete step.
#include <QAction>
#include <QStackedWidget>
#include <QToolButton>

#include "ui/theme/tinted_label.h"
#include "ui/timeline/pipeline_text.h"
#include "ui/timeline/timeline_legend.h"
#include "ui/timeline/timeline_panel.h"

namespace trainyard::ui {

bool TimelinePanel::shows_pipeline() const { return views_->currentWidget() == pipeline_view_; }

void TimelinePanel::build_pipeline() {
  connect(pipeline_, &PipelineReader::changed, this, [this] {
    pipeline_view_->set_picture(pipeline_->picture());
    fit_views();
    if (!pipeline_->picture().ran) request_refresh();  // reads what was recorded meanwhile
  });
  connect(pipeline_action_, &QAction::toggled, this, &TimelinePanel::fit_views);
  connect(follow_, &QAction::toggled, this, &TimelinePanel::follow_steps);
  connect(earlier_, &QAction::triggered, this, [this] { choose_step(-1); });
  connect(later_, &QAction::triggered, this, [this] { choose_step(1); });
  connect(view_, &TimelineView::step_chosen, this, [this] {
    pipeline_->choose(view_->chosen_step());
    pipeline_->refresh(steps_);
    show_badges();
  });
  connect(pipeline_view_, &PipelineView::step_requested, this, &TimelinePanel::choose_step);
  connect(pipeline_view_, &PipelineView::follow_requested, this, [this] {
    if (follow_->isEnabled()) follow_->toggle();
  });
  connect(pipeline_view_, &PipelineView::selection_changed, this, &TimelinePanel::cell_selected);
  connect(pipeline_view_, &PipelineView::plan_requested, this, [this] { emit_selected(true); });
  connect(pipeline_view_, &PipelineView::painted, this, &TimelinePanel::catch_up,
          Qt::QueuedConnection);
  fit_views();
}

void TimelinePanel::set_drawing(const PipelinePlanPtr& drawing) { pipeline_->set_drawing(drawing); }

void TimelinePanel::zoom(double factor) {
  shows_pipeline() ? pipeline_view_->zoom_at(0.5, factor) : view_->zoom_at(0.5, factor);
}

// Shows cells if they are available and selected, otherwise lanes.
void TimelinePanel::fit_views() {
  const bool pipeline = pipeline_->any() && pipeline_action_->isChecked(),
             had_focus = views_->currentWidget()->hasFocus();
  if (pipeline && !shows_pipeline() && view_->chosen_step()) view_->set_following(false);
  views_->setCurrentWidget(pipeline ? static_cast<QWidget*>(pipeline_view_) : view_);
  setFocusProxy(views_->currentWidget());
  if (had_focus) views_->currentWidget()->setFocus();
  pipeline_button_->setVisible(pipeline_->any());
  for (QToolButton* one : pipeline_controls_) one->setVisible(pipeline);
  for (QToolButton* one : lanes_controls_) one->setVisible(!pipeline);
  help_button_->setToolTip(pipeline ? pipeline_formulas() : formulas());
  efficiency_->setAccessibleName(pipeline ? tr("Bubble of the planned step")
                                          : tr("Efficiency in view"));
  efficiency_->set_help(pipeline ? bubble_help() : QString());
  communication_->setAccessibleName(pipeline ? tr("Bubble of the measured step")
                                             : tr("Communication in view"));
  const PipelineShape* shape = pipeline
                                   ? (pipeline_->picture().plan ? &pipeline_->picture().plan->shape
                                                                : &*pipeline_->picture().run)
                                   : nullptr;
  legend_->show_passes(
      shape ? std::optional(TimelineLegend::Passes{shape->has_weight_pass(), shape->chunks()})
            : std::nullopt);
  if (pipeline) show_pipeline();
  else show_figures(), show_badges(), show_selected();
}

void TimelinePanel::fit_steps() {
  earlier_->setEnabled(pipeline_->step_beside(steps_, -1).has_value());
  later_->setEnabled(pipeline_->step_beside(steps_, 1).has_value());
}

void TimelinePanel::show_pipeline() {
  fit_steps();
  efficiency_->setText(planned_text(pipeline_->picture()));
  communication_->setText(measured_text(pipeline_->picture()));
  show_badges();
  show_selected();
}

// While the view follows the run, no step is chosen. When the user stops following, the displayed
// step becomes the chosen step.
void TimelinePanel::follow_steps(bool following) {
  if (!shows_pipeline()) return;
  if (following) view_->choose_step({});
  else if (!view_->chosen_step()) view_->choose_step(pipeline_->shown_step());
}

void TimelinePanel::choose_step(int way) {
  const auto step = pipeline_->step_beside(steps_, way);
  if (!step) return;
  view_->choose_step(step);
  view_->set_following(false);
}

// Handles the selection of a cell of an executed step: that step stays displayed, and the first op
// of the cell is selected in the view of lanes.
void TimelinePanel::cell_selected() {
  const auto place = pipeline_view_->selected();
  const bool ran = place && place->block == CellBlock::run;
  if (ran) view_->set_following(false);
  const QSignalBlocker once(view_);
  view_->select(
      ran ? std::optional(pipeline_->picture()
                              .ran->places[static_cast<std::size_t>(place->rank)][place->number])
          : std::nullopt,
      false);
  show_selected();
  tell_cell(false);
}

void TimelinePanel::tell_cell(bool raise) {
  const auto place = pipeline_view_->selected();
  if (!place) return;
  const PipelinePicture& picture = pipeline_->picture();
  const auto rank = static_cast<std::size_t>(place->rank);
  if (place->block == CellBlock::plan) {
    const PlannedStep& step = *picture.planned();
    const QString program = QString::fromStdString(step.program),
                  token = QString::fromStdString(step.tokens[rank][place->number]);
    return picture.plan_is_of_drawing ? emit drawn_op_selected(place->rank, program, token, raise)
                                      : emit op_selected(place->rank, program, token, raise);
  }
  const SpanAddress& op = picture.ran->places[rank][place->number];
  const OpSpan* span = span_at(run_->spans(), op);
  if (!span) return;
  emit op_selected(place->rank, QString::fromStdString(picture.ran->program),
                   title_of(run_->spans().names(op.rank), op.lane, *span), raise);
}

}  // namespace trainyard::ui
