// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/timeline/timeline_panel.h"

#include <QAction>
#include <QApplication>
#include <QHBoxLayout>
#include <QStackedWidget>
#include <QThreadPool>
#include <QToolButton>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "core/base/fields.h"
#include "core/base/units.h"
#include "core/strategy/strategy.h"
#include "ui/model/plan/verdict.h"
#include "ui/model/runs/work_scheduler.h"
#include "ui/model/text/count_text.h"
#include "ui/theme/icons.h"
#include "ui/theme/theme.h"
#include "ui/theme/tinted_label.h"
#include "ui/timeline/timeline_legend.h"
#include "ui/timeline/timeline_walk.h"

namespace trainyard::ui {
namespace {

constexpr int kRefreshMilliseconds = 50;
// Margin on each side of a push to which the view scrolls: kPushesAround times the duration of the
// push, but at least kAroundPush nanoseconds.
constexpr Nanoseconds kAroundPush = 1'000'000;
constexpr int kPushesAround = 8;

QToolButton* button(QAction* action, QWidget& bar, Qt::ToolButtonStyle style) {
  auto* made = new QToolButton(&bar);
  made->setDefaultAction(action);
  made->setToolButtonStyle(style);
  made->setFocusPolicy(Qt::TabFocus);
  bar.layout()->addWidget(made);
  return made;
}

QString seconds(double value) { return QString::fromStdString(base::format_seconds(value)); }

}  // namespace

TimelinePanel::TimelinePanel(QWidget* parent)
    : QWidget(parent),
      view_(new TimelineView(this)),
      reader_(new FiguresCalculator(this)),
      pipeline_view_(new PipelineView(this)),
      pipeline_(new PipelineReader(this)),
      views_(new QStackedWidget(this)) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  build_bar();
  build_lines();
  build_pipeline();
  delay_timer_.setSingleShot(true);
  delay_timer_.setInterval(kRefreshMilliseconds);
  connect(&delay_timer_, &QTimer::timeout, this,
          [this] { WorkScheduler::instance().ask(this, Work::drawing, [this] { refresh(); }); });
  connect(view_, &TimelineView::view_changed, this, [this] { reader_->ask(), show_badges(); });
  connect(view_, &TimelineView::step_chosen, reader_, &FiguresCalculator::ask);
  connect(view_, &TimelineView::painted, this, &TimelinePanel::catch_up, Qt::QueuedConnection);
  connect(view_, &TimelineView::following_changed, follow_, &QAction::setChecked);
  connect(view_, &TimelineView::following_changed, this, &TimelinePanel::show_badges);
  connect(view_, &TimelineView::selection_changed, this, [this] {
    show_selected();
    // The pipeline view emits nothing here, because the panel then describes the selected cell
    // instead of the selected op.
    if (!shows_pipeline()) emit_selected(false);
  });
  connect(view_, &TimelineView::plan_requested, this, [this] { emit_selected(true); });
  connect(reader_, &FiguresCalculator::computed, this, &TimelinePanel::show_figures);
  set_run(nullptr);
}

TimelinePanel::~TimelinePanel() { drawing_changed_.request_stop(); }

void TimelinePanel::build_bar() {
  auto* bar = new QWidget(this);
  auto* row = new QHBoxLayout(bar);
  row->setContentsMargins(kGrid, kGrid / 2, kGrid, 0);
  const auto action = [this](const char* picture, const QString& text, const QString& tip) {
    auto* made = new QAction(picture ? icon(picture) : QIcon(), text, this);
    made->setToolTip(tip);
    return made;
  };
  follow_ = action(nullptr, tr("Follow"),
                   tr("Keep the newest op at the end of the view; panning stops following (F)"));
  follow_->setCheckable(true);
  follow_->setChecked(true);
  QAction *all = action("zoom-fit", tr("Show all"), tr("Show the whole run (0, double click)")),
          *in =
              action("zoom-in", tr("Zoom in"), tr("Zoom in (+, Ctrl+wheel, or drag over a range)")),
          *out = action("zoom-out", tr("Zoom out"), tr("Zoom out (-, Ctrl+wheel)"));
  thin_ = action(nullptr, tr("Thin lanes"), tr("Use thin lanes without names to fit many ranks"));
  thin_->setCheckable(true);
  plan_action_ = action("plan", tr("Show in plan"), tr("Show the selected op in the plan (Enter)"));
  pipeline_action_ =
      action(nullptr, tr("Pipeline"),
             tr("Show the pipeline cells of a step, planned above measured, instead of op lanes"));
  pipeline_action_->setCheckable(true);
  pipeline_action_->setChecked(true);
  earlier_ = action("left", tr("Previous step"), tr("Show the previous step (Page Up)"));
  later_ = action("right", tr("Next step"), tr("Show the next step (Page Down)"));
  pipeline_button_ = button(pipeline_action_, *bar, Qt::ToolButtonTextOnly);
  button(follow_, *bar, Qt::ToolButtonTextOnly);
  for (QAction* one : {earlier_, later_})
    pipeline_controls_.push_back(button(one, *bar, Qt::ToolButtonIconOnly));
  for (QAction* one : {all, in, out}) button(one, *bar, Qt::ToolButtonIconOnly);
  lanes_controls_.push_back(button(thin_, *bar, Qt::ToolButtonTextOnly));
  button(plan_action_, *bar, Qt::ToolButtonTextOnly);
  row->addStretch(1);
  row->addWidget(following_ = new TintedLabel(TextColor::ok, bar));
  row->addWidget(badge_line_ = new TintedLabel(TextColor::warning, bar));
  badge_line_->set_elided();
  badge_line_->setAccessibleName(tr("Caveats of these values"));
  layout()->addWidget(bar);
  connect(follow_, &QAction::toggled, view_, &TimelineView::set_following);
  connect(all, &QAction::triggered, this,
          [this] { shows_pipeline() ? pipeline_view_->home() : view_->home(); });
  connect(in, &QAction::triggered, this, [this] { zoom(0.5); });
  connect(out, &QAction::triggered, this, [this] { zoom(2); });
  connect(thin_, &QAction::toggled, view_, &TimelineView::set_thin);
  connect(plan_action_, &QAction::triggered, this, [this] { emit_selected(true); });
}

void TimelinePanel::build_lines() {
  auto* line = new QWidget(this);
  auto* row = new QHBoxLayout(line);
  row->setContentsMargins(kGrid, 2, kGrid, 2);
  help_button_ = new QToolButton(line);
  row->addWidget(help_button_, 0, Qt::AlignTop);
  auto* lines = new QVBoxLayout;
  lines->setSpacing(0);
  lines->addWidget(efficiency_ = new TintedLabel(TextColor::text, line));
  lines->addWidget(communication_ = new TintedLabel(TextColor::text, line));
  row->addLayout(lines, 1);
  help_button_->setIcon(icon("info"));
  help_button_->setAutoRaise(true);
  help_button_->setToolTip(formulas());
  help_button_->setAccessibleName(tr("Explanation of these values"));
  connect(help_button_, &QToolButton::clicked, help_button_, [about = help_button_] {
    QToolTip::showText(about->mapToGlobal(about->rect().bottomLeft()), about->toolTip(), about);
  });
  for (TintedLabel* label : {efficiency_, communication_}) {
    label->set_elided();
    label->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  }
  layout()->addWidget(line);
  views_->addWidget(view_);
  views_->addWidget(pipeline_view_);
  static_cast<QVBoxLayout*>(layout())->addWidget(views_, 1);
  build_foot();
}

// Builds the footer, which shows the legend, or the details of the selected op.
void TimelinePanel::build_foot() {
  auto* foot = new QWidget(this);
  auto* row = new QHBoxLayout(foot);
  row->setContentsMargins(kGrid, 2, kGrid, 2);
  row->addWidget(selected_ = new TintedLabel(TextColor::text, foot), 1);
  row->addWidget(legend_ = new TimelineLegend(foot), 1);
  selected_->set_elided();
  selected_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  selected_->setAccessibleName(tr("Selected op"));
  layout()->addWidget(foot);
}

void TimelinePanel::set_run(Run* run) {
  if (run_) disconnect(run_, nullptr, this, nullptr);
  run_ = run;
  steps_ = {};
  drawn_.clear();
  drawn_requested_ = false;
  drawing_changed_.request_stop();
  if (run) {
    connect(run, &Run::updated, this, &TimelinePanel::request_refresh);
    connect(run, &QObject::destroyed, this, [this] { set_run(nullptr); });
  }
  pipeline_->set_run(run);
  view_->set_source(run ? &run->spans() : nullptr, run ? &run->history() : nullptr,
                    run ? &steps_ : nullptr);
  reader_->set_source(run ? &run->spans() : nullptr, [this](int rank) { return looked_at(rank); });
  follow_->setChecked(true);
  efficiency_->clear();
  communication_->clear();
  if (shows_pipeline()) show_pipeline();  // shows the drawing's plan
  view_->set_notes({});
  request_refresh();
  view_->set_empty_text(why_empty());
}

bool TimelinePanel::show_push(int rank, double seconds) {
  if (!run_) return false;
  const auto push =
      push_before(run_->spans(), rank, static_cast<Nanoseconds>(std::llround(seconds * 1e9)));
  if (!push) return false;
  pipeline_action_->setChecked(false);
  view_->refresh();  // shows data that arrived while the panel was hidden
  const OpSpan& span = *span_at(run_->spans(), *push);
  const Nanoseconds around = std::max(kAroundPush, kPushesAround * (span.end - span.begin));
  view_->show_range({span.begin - around, span.end + around});
  view_->select(push);
  return true;
}

void TimelinePanel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  request_refresh();
}

// Refreshes only when the panel is painted. A dock behind another tab is not painted, although Qt
// counts it as visible.
void TimelinePanel::request_refresh() {
  if (!delay_timer_.isActive() && !WorkScheduler::instance().waits(this)) delay_timer_.start();
}

void TimelinePanel::refresh() {
  view_->set_empty_text(why_empty());
  needs_refresh_ = visibleRegion().isEmpty();
  if (run_ && !needs_refresh_) {
    if (steps_.read(run_->history())) request_refresh();
    view_->refresh();
    pipeline_->refresh(steps_);
    fit_steps();
    legend_->show_held_back(run_->spans().held_back());
    reader_->ask();
    if (!drawn_requested_ && run_->history().ranks() > 1 && run_->spans().taken() > 0)
      simulate_drawing();
  }
  show_badges();
  show_selected();
}

QString TimelinePanel::why_empty() const {
  if (!run_)
    return tr(
        "No ops yet: press Run, or open a run. The timeline shows the ops of every rank: input, "
        "forward, backward, send, receive and update.");
  const auto recorded =
      base::value_at(run_->history().header(), "experiment.document.run.record_ops");
  if (recorded && recorded->is_boolean() && !recorded->get<bool>())
    return tr(
        "This run did not record its ops. Turn on “Record every op” in the inspector (Run; "
        "run.record_ops in the file), then run again.");
  return run_->complete() ? tr("This run recorded no ops.") : tr("Waiting for the first ops.");
}

// Refreshes the panel when it becomes visible, if it was not refreshed while hidden.
void TimelinePanel::catch_up() {
  if (needs_refresh_) request_refresh();
  show_badges();
}

// Returns the times of a rank for which the efficiency and other numbers are computed. These are
// the times that the rank reported for the chosen step; without a chosen step, those of the visible
// steps whose ops are recorded.
Times TimelinePanel::looked_at(int rank) const {
  if (!run_ || !run_->spans().extent()) return {};
  if (const auto chosen = view_->chosen_step()) {
    const auto step = step_of_rank(run_->history(), rank, *chosen);
    return step ? Times{*step} : Times();
  }
  const TimeRange recorded = *run_->spans().extent();
  return clip_to_steps(
      run_->history(), rank,
      {std::max(view_->view().begin, recorded.begin), std::min(view_->view().end, recorded.end)});
}

// Describes the visible range by its steps. A step counts as visible if the middle of its duration
// is visible.
QString TimelinePanel::range_text() const {
  if (const auto step = view_->chosen_step()) return tr("Step %1").arg(grouped(*step));
  const auto& steps = steps_.steps();
  const auto middle = [](const StepTime& step) {
    return step.range.begin + step.range.width() / 2;
  };
  const auto first = std::ranges::partition_point(
      steps, [&](const StepTime& step) { return middle(step) < view_->view().begin; });
  const auto end = std::partition_point(
      first, steps.end(), [&](const StepTime& step) { return middle(step) < view_->view().end; });
  if (end - first > 1)
    return tr("In view, steps %1 to %2").arg(grouped(first->step), grouped((end - 1)->step));
  return first != end ? tr("In view, step %1").arg(grouped(first->step))
                      : tr("In view, part of a step");
}

void TimelinePanel::show_figures() {
  const TimelineFigures all = reader_->all();
  QStringList notes;
  for (const auto& one : reader_->by_rank())
    notes << (one ? percent(one->efficiency()) : QString());
  view_->set_notes(notes);
  if (shows_pipeline()) return;  // the pipeline view shows its own values
  if (all.ranks == 0) return efficiency_->clear(), communication_->clear();
  const QString least =
      all.ranks > 1
          ? tr("; lowest: rank %1, %2").arg(all.least_efficient).arg(percent(all.min_efficiency))
          : QString();
  efficiency_->setText(tr("%1: efficiency %2 (compute share of time, mean over %n rank(s)%3)",
                          nullptr, plural(all.ranks))
                           .arg(range_text(), percent(all.efficiency), least));
  QStringList parts;
  if (all.overlap) {
    parts << tr("communication %1 of the time, %2 of it overlapped with compute")
                 .arg(percent(all.communication), percent(*all.overlap));
    parts << (all.waiting ? tr("waiting for peers %1").arg(percent(*all.waiting))
                          : tr("waiting for peers not reported by the engine"));
  }
  if (!drawn_.isEmpty()) parts << drawn_;
  communication_->setText(parts.join(" · "));
}

// Simulates the drawn speeds in the background, once per run.
void TimelinePanel::simulate_drawing() {
  drawn_requested_ = true;
  drawing_changed_ = {};
  const auto recorded = base::value_at(run_->history().header(), "experiment");
  if (!recorded) return;
  QThreadPool::globalInstance()->start([panel = QPointer<TimelinePanel>(this),
                                        directory = run_->directory(), recorded = *recorded,
                                        stop = drawing_changed_.get_token()] {
    const auto drawn =
        experiment::resolved_from_json(recorded).and_then([&](const experiment::Resolved& of) {
          return strategy::make_plan(of).and_then(
              [&](const plan::Plan& plan) { return simulate_verdict(of, plan, stop); });
        });
    if (!drawn) return;
    QMetaObject::invokeMethod(qApp, [panel, directory, drawn = *drawn] {
      if (!panel || !panel->run_ || panel->run_->directory() != directory) return;
      panel->drawn_ = tr("simulated efficiency %1 (as drawn: one device %2 / (%3 x %4))")
                          .arg(percent(drawn.efficiency()), seconds(drawn.one_device_seconds),
                               QString::number(drawn.ranks), seconds(drawn.step_seconds));
      panel->reader_->ask();
    });
  });
}

}  // namespace trainyard::ui
