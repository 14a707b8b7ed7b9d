// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/run_display.h"

#include "ui/model/runs/recorded_run.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/topology/topology_edit.h"
#include "ui/panels/run_caveats.h"
#include "ui/runs/run_comparison.h"

namespace trainyard::ui {
namespace {

constexpr int kLiveMilliseconds = 200;

}  // namespace

RunDisplay::RunDisplay(Document& document, FileActions& files, RunSession& runs,
                       const RunStarter& starter, Workspace& workspace, CentralArea& center,
                       DockPanels& panels)
    : document_(document),
      files_(files),
      runs_(runs),
      starter_(starter),
      workspace_(workspace),
      center_(center),
      panels_(panels) {
  live_.setInterval(kLiveMilliseconds);
  connect(&live_, &QTimer::timeout, this, &RunDisplay::show_live_state);
  connect(&document, &Document::changed, this, [this] { as_drawn_.reset(); });
  connect(&starter, &RunStarter::starting, this, [this] { experiment_requested_ = false; });
  connect(&runs, &RunSession::current_changed, this, &RunDisplay::show_run);
  connect(&runs, &RunSession::shown_changed, this,
          [this] { panels_.charts.set_runs(runs_.shown()); });
  connect(&runs, &RunSession::live_changed, &panels.stepper, &StepperPanel::leave_canvas);
  connect(&panels.runs, &RunsPanel::ticked_changed, &runs, &RunSession::set_ticked);
  connect(&panels.runs, &RunsPanel::open_requested, this, &RunDisplay::open);
  connect(&panels.scaling, &ScalingPanel::open_requested, this, &RunDisplay::open);
  panels.inspector.set_recorded_assignment([this] {
    return runs_.current() && trains_as_run() ? recorded_assignment(runs_.current()->history())
                                              : DataAssignment();
  });
}

void RunDisplay::open(const QString& run_directory) {
  experiment_requested_ = true;
  center_.show_welcome(false);
  workspace_.show_charts();
  runs_.open(run_directory);
  live_.start();  // needed if the run is already open
}

void RunDisplay::show_run() {
  Run* run = runs_.current();
  drawing_matches_ = true;
  opened_beside_run_ = false;
  as_drawn_.reset();
  overlay_.reset();
  center_.canvas().clear_overlay();
  panels_.log.set_run(run);
  panels_.timeline.set_run(run);
  panels_.stepper.set_run(run);
  panels_.staleness.set_run(run);
  panels_.text.set_run(run);
  center_.offers().recheck();
  live_.start();
  panels_.runs.set_current(run->directory());
}

void RunDisplay::run_ended(const Run& run) {
  if (&run != runs_.current()) return;
  center_.canvas().clear_overlay();
  show_live_state();
}

void RunDisplay::document_opened() {
  match_drawing();
  experiment_requested_ = false;  // the opened document replaces the run's experiment
  opened_beside_run_ = runs_.current() != nullptr;
  if (opened_beside_run_) live_.start();
}

bool RunDisplay::trains_as_run() const {
  return trains_as_recorded(document_.experiment(), document_.directory().toStdString(),
                            runs_.current()->history());
}

// Decides whether the run's measurements are shown on the drawing. They are shown if the objects on
// the drawing have the same names as those that the run recorded.
void RunDisplay::match_drawing() {
  if (!runs_.current()) return;
  drawing_matches_ =
      object_names(runs_.current()->drawing()) == object_names(document_.experiment().topology);
  if (!drawing_matches_) center_.canvas().clear_overlay();
}

// Shows the experiment of an opened run. If the document has a file or unsaved changes, asks the
// user first.
void RunDisplay::show_experiment_of_run() {
  experiment_requested_ = false;
  match_drawing();
  if (document_.file().isEmpty() && !document_.dirty() && !trains_as_run())
    open_experiment_of_run();
  else report_other_experiment();
}

bool RunDisplay::open_experiment_of_run() {
  const auto recorded = recorded_experiment(runs_.current()->history());
  if (!recorded || !files_.open_as_new(given_experiment(runs_.current()->directory(), *recorded)))
    return false;
  emit experiment_opened();
  show_live_state();
  return true;
}

// Reports that the document differs from the experiment of the run on the charts.
void RunDisplay::report_other_experiment() {
  opened_beside_run_ = false;
  if (!recorded_experiment(runs_.current()->history()) || trains_as_run()) return;
  Banner& offers = center_.offers();
  offers.show_text(Banner::Kind::information, tr("This run trained a different experiment"),
                   tr("The canvas still shows your experiment."));
  offers.offer(tr("Show its experiment"), [this] { return open_experiment_of_run(); });
  offers.stays_until([this, directory = runs_.current()->directory()] {
    return runs_.current()->directory() != directory || trains_as_run();
  });
}

// Updates the canvas and the caveats for the current run. Called a few times a second. Shows only
// measured values.
void RunDisplay::show_live_state() {
  const Run* run = runs_.current();
  if (!run) return;
  const telemetry::History& history = run->history();
  const bool known = history.ranks() > 0;
  if (known && experiment_requested_) show_experiment_of_run();
  if (known && opened_beside_run_ && !starter_.wanted()) report_other_experiment();
  if (!overlay_ && known) overlay_.emplace(run->drawing());
  const session::Status* status = run->status() ? &*run->status() : nullptr;
  const bool over = run->complete() && !run->live();
  const topology::Topology& drawing = document_.experiment().topology;
  if (known && !as_drawn_) as_drawn_ = trains_as_run();
  TopologyView& canvas = center_.canvas();
  if (overlay_ && drawing_matches_ && over)
    canvas.set_overlay(overlay_->on(drawing, overlay_->failures(history)));
  if (overlay_ && status && drawing_matches_ && run->live())
    canvas.set_overlay(
        overlay_->on(drawing,
                     overlay_->overlay(history, status, status->state == session::RunState::running,
                                       &run->traffic()),
                     as_drawn_.value_or(false)));
  const QStringList of_run = run_caveats(history, run->drawing());
  std::vector<RunCaveats> caveats;
  for (const Run* shown : runs_.shown())
    caveats.push_back(
        {shown->name(), shown == run ? of_run : run_caveats(shown->history(), shown->drawing())});
  panels_.charts.set_badges(merge_caveats(caveats) + lag_message(status && !over ? status->step : 0,
                                                                 panels_.charts.steps()));
  panels_.timeline.set_badges(of_run);
  if (over && !(known && opened_beside_run_)) live_.stop();
}

}  // namespace trainyard::ui
