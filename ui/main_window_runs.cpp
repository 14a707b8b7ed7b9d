// SPDX-License-Identifier: GPL-3.0-or-later
// Run handling of the main window: opens runs, shows them on the drawing, reports how they end.
#include <QApplication>
#include <QStatusBar>

#include "core/base/fields.h"
#include "core/experiment/rank_duties.h"
#include "core/session/checkpoint/checkpoint.h"
#include "ui/fault_menu.h"
#include "ui/live_runs.h"
#include "ui/main_window.h"
#include "ui/model/runs/failure.h"
#include "ui/model/runs/recorded.h"
#include "ui/model/runs/run_directory.h"
#include "ui/model/text/count_text.h"
#include "ui/model/text/fault_text.h"
#include "ui/model/topology/topology_edit.h"
#include "ui/model/topology/topology_words.h"
#include "ui/panels/run_caveats.h"
#include "ui/runs/run_comparison.h"
#include "ui/slow_menu.h"

namespace trainyard::ui {
namespace {

constexpr int kNewsMilliseconds = 10'000;

}  // namespace

void MainWindow::open_run(const QString& directory) {
  experiment_wanted_ = true;
  show_welcome(false);
  workspace_->show_charts();
  runs_.open(directory);
  live_.start();  // also if it is already open
}

void MainWindow::open_run_by_dialog() {
  const QString directory = questions_.run_to_open(setup_.services.runs_directory);
  if (!directory.isEmpty()) open(directory);
}

void MainWindow::offer_recoveries() {
  offer_recovery();
  scaling_->list_sweeps_later();
  find_live_runs_later(setup_.services, this, [this](const QStringList& live) {
    earlier_live_runs_ = live;
    update_run_controls();
    if (live.isEmpty() || runs_.live()) return;
    const QString& first = live.first();
    const QString more =
        live.size() > 1 ? tr(" More live runs: %1, see Runs.").arg(live.size() - 1) : QString();
    offers_->show_text(Banner::Kind::information,
                       tr("A run is still running: %1").arg(run_name(first)),
                       tr("It was left running, or its workbench ended.") + more);
    offers_->offer(tr("Attach"), [this, first] {
      open_run(first);
      return true;
    });
  });
}

void MainWindow::run_changed() {
  Run* run = runs_.current();
  reported_failures_.removeAll(run->directory());  // failures are shown again beside their run
  drawing_matches_ = true;
  opened_beside_run_ = false;
  as_drawn_.reset();
  overlay_.reset();
  canvas_->clear_overlay();
  update_run_controls();
  log_->set_run(run);
  timeline_->set_run(run);
  stepper_->set_run(run);
  staleness_->set_run(run);
  text_->set_run(run);
  offers_->look_again();
  live_.start();
  runs_panel_->set_current(run->directory());
}

// Controls and status line always refer to the training run, even if another one is displayed.
void MainWindow::update_run_controls() {
  controls_.set_run(runs_.commanded());
  state_bar_->set_run(runs_.commanded());
  QStringList directories = earlier_live_runs_;
  for (const Run* run : runs_.live_runs())
    if (!directories.contains(run->directory())) directories << run->directory();
  runs_panel_->set_live(directories);
  welcome_->set_live_run(live_names().join(", "));
}

QStringList MainWindow::live_names() const {
  QStringList names;
  for (const Run* run : runs_.live_runs()) names << run->name();
  return names;
}

// Returns the run's name if another run is displayed.
QString MainWindow::called(const Run& run) const {
  return &run == runs_.current() ? tr("The run") : run.name();
}

// Reports a failure immediately, even of a run that trains while another is displayed; other
// changes are shown by the timer.
void MainWindow::run_updated(Run* run) {
  if (run == runs_.current() || run->live()) report_failure(*run);
}

void MainWindow::report_failure(const Run& run) {
  if (reported_failures_.contains(run.directory())) return;
  std::optional<base::Problem> problem = failure_of_run(run.history());
  if (run.status() && run.status()->problem) problem = run.status()->problem;
  if (!problem) return;
  reported_failures_ << run.directory();
  if (problem->code == base::ProblemCode::canceled)
    return errors_->show_text(Banner::Kind::information, tr("%1 was stopped").arg(called(run)),
                              tr("Its recording is kept."));
  errors_->show_problem(tr("%1 failed").arg(called(run)), *problem);
  const std::set<int> ranks = ranks_in_problem(*problem);
  offer_log(run, ranks.size() == 1 ? std::optional(*ranks.begin()) : std::nullopt);
}

void MainWindow::run_in_trouble(Run* run, const QString& text) {
  errors_->show_text(Banner::Kind::error, tr("%1 has a problem").arg(called(*run)), text);
  offer_log(*run, {});
}

// Offers the log of that rank, or of all ranks.
void MainWindow::offer_log(const Run& run, std::optional<int> rank) {
  const auto show = [this, directory = run.directory(), rank] {
    if (!runs_.current() || runs_.current()->directory() != directory) open_run(directory);
    workspace_->raise("log");
    log_->show_lines_of(rank);
    return false;  // the banner stays open beside the log
  };
  errors_->offer(tr("Show log"), show);
}

// Offers to resume a failed run with a complete checkpoint, if the document is what it trained.
void MainWindow::offer_resume(const Run& run) {
  const auto step = base::value_at(run.history().result(), "committed_step"),
             problem = base::value_at(run.history().result(), "problem");
  if (!step || !problem || !step->is_number_integer() || &run != runs_.current() ||
      !trains_as_run())
    return;
  errors_->offer_second(tr("Resume from step %1").arg(grouped(step->get<std::int64_t>())),
                        [this, directory = run.directory()] {
                          start_run();
                          if (run_wanted_) resume_from_ = directory;
                          return true;
                        });
}

// Reports that the coordinator ended without a result.
void MainWindow::report_lost_coordinator(const Run& run) {
  const auto& losses = run.history().train_loss();
  const QString steps = counted(losses.empty() ? 0 : losses.back().step + 1, tr("steps"));
  const QString said = QString::fromStdString(last_output(run.directory().toStdString()));
  const QString how =
      said.isEmpty()
          ? tr("The coordinator process ended after %1 without reporting a result; it may have "
               "been killed.")
                .arg(steps)
          : tr("The coordinator process ended after %1 without reporting a result.").arg(steps);
  const QString kept = tr("The recording is kept. Run the experiment again.");
  errors_->show_text(Banner::Kind::error, tr("%1 ended unexpectedly").arg(called(run)),
                     said.isEmpty() ? how + " " + kept
                                    : how + " " + kept + "\n" + tr("Last output: %1").arg(said));
  offer_log(run, {});
}

void MainWindow::run_ended(Run* run) {
  if (earlier_live_runs_.removeAll(run->directory()) > 0) update_run_controls();
  report_failure(*run);
  const telemetry::History& history = run->history();
  const bool told = reported_failures_.contains(run->directory()), shown = run == runs_.current();
  if (!told && history.ranks() > 0 && !history.result().is_object()) report_lost_coordinator(*run);
  else if (!told && !shown)
    statusBar()->showMessage(tr("%1 has ended").arg(run->name()), kNewsMilliseconds);
  if (told && shown) offer_resume(*run);
  if (shown) canvas_->clear_overlay(), show_live_state();
  runs_panel_->refresh();
  QApplication::alert(this);
  if (closing_ && !runs_.live()) close();
}

// Shows the experiment of an opened run: immediately if the document has no file and no unsaved
// changes, otherwise if the user accepts.
void MainWindow::show_experiment_of_run() {
  experiment_wanted_ = false;
  match_drawing();
  if (document_.file().isEmpty() && !document_.dirty() && !trains_as_run())
    open_experiment_of_run();
  else report_other_experiment();
}

bool MainWindow::open_experiment_of_run() {
  const auto recorded = recorded_experiment(runs_.current()->history());
  if (!recorded || !files_.open_as_new(given_experiment(runs_.current()->directory(), *recorded)))
    return false;
  reported_failures_.removeAll(
      runs_.current()->directory());  // opening a document clears the messages of the previous one
  report_failure(*runs_.current());
  offer_resume(*runs_.current());
  show_live_state();
  return true;
}

// Reports that the document differs from the experiment on the charts.
void MainWindow::report_other_experiment() {
  opened_beside_run_ = false;
  if (!recorded_experiment(runs_.current()->history()) || trains_as_run()) return;
  offers_->show_text(Banner::Kind::information, tr("This run trained a different experiment"),
                     tr("The canvas still shows your experiment."));
  offers_->offer(tr("Show its experiment"), [this] { return open_experiment_of_run(); });
  offers_->stays_until([this, directory = runs_.current()->directory()] {
    return runs_.current()->directory() != directory || trains_as_run();
  });
}

bool MainWindow::trains_as_run() const {
  return trains_as_recorded(document_.experiment(), document_.directory().toStdString(),
                            runs_.current()->history());
}

// Measurements are never shown on another drawing. Edits do not make it another drawing while all
// names are the same.
void MainWindow::match_drawing() {
  if (!runs_.current()) return;
  drawing_matches_ =
      object_names(runs_.current()->drawing()) == object_names(document_.experiment().topology);
  if (!drawing_matches_) canvas_->clear_overlay();
}

// Adds the menu for a device with a rank of the displayed run.
void MainWindow::offer_for_rank(QMenu& menu, const Part& part) {
  Run* run = runs_.current();
  const auto& overlay = canvas_->topology_scene().overlay();
  if (part.kind != Part::Kind::device || !run || !run->live() || !run->status() || !overlay) return;
  const auto device = overlay->devices.find(part.name);
  const auto recorded = recorded_experiment(run->history());
  if (device == overlay->devices.end() || !recorded) return;
  for (const session::RankStatus& rank : run->status()->ranks) {
    if (rank.rank != device->second.rank) continue;
    add_slow_menu(menu, {rank.rank, rank.slow_down, rank.jitter},
                  [run = QPointer<Run>(run)](const session::Slow& slow) {
                    if (run) run->slow(slow);
                  });
    add_fault_menu(menu, rank.rank, faults_of_rank(*recorded, *run->status(), rank.rank),
                   [this, run = QPointer<Run>(run), rank = rank.rank](session::Command fault) {
                     if (run) befall(*run, fault, rank);
                   });
  }
}

void MainWindow::offer_for_link(QMenu& menu, const Part& part) {
  Run* run = runs_.current();
  if (part.kind != Part::Kind::link || !run || !run->live() || !run->status()) return;
  const auto recorded = recorded_experiment(run->history());
  const auto offered = recorded
                           ? faults_of_link(*recorded, *run->status(), part.link.from, part.link.to)
                           : std::nullopt;
  if (!offered) return;
  add_link_menu(menu, *offered, [run = QPointer<Run>(run), link = offered->link](double carried) {
    if (run) run->set_link(link, carried);
  });
}

// Asks before a fault that ends the run, based on the current state, not on the state when the menu
// opened.
void MainWindow::befall(Run& run, session::Command fault, int rank) {
  const auto recorded = recorded_experiment(run.history());
  const bool spared =
      recorded && run.status() && faults_of_rank(*recorded, *run.status(), rank).spared;
  const QPointer<Run> still = &run;
  const QString who =
      recorded ? tr("rank %1 (%2)").arg(rank).arg(duty_words(experiment::duty_of(*recorded, rank)))
               : tr("rank %1").arg(rank);
  const bool resumes = recorded && experiment::has_servers(recorded->strategy.kind);
  const auto committed =
      resumes ? session::committed_step(std::filesystem::path(run.directory().toStdString()) /
                                        "checkpoints")
              : std::nullopt;
  const QString kept =
      committed
          ? tr("Another run can resume from its checkpoint of step %1.").arg(grouped(*committed))
          : tr("It has written no checkpoint to resume from.");
  const QString text =
      tr("Training cannot continue without %1: killing it ends %2. %3").arg(who, run.name(), kept);
  if (fault == session::Command::kill && !spared &&
      !questions_.confirm(tr("End the run?"), text, tr("Kill rank %1").arg(rank)))
    return;
  if (still) still->befall(fault, rank);
}

// The plan panel shows the document's plan, so it is used only if the run trained the document.
void MainWindow::show_in_plan(int rank, const QString& program, const QString& token, bool raise) {
  if (!runs_.current() || !trains_as_run()) {
    if (raise)
      statusBar()->showMessage(tr("This run trained a different experiment; the plan shows the "
                                  "experiment on the canvas."),
                               kNewsMilliseconds);
    return;
  }
  plan_->show_op(rank, program, token);
  if (raise) workspace_->raise("plan");
}

void MainWindow::show_push(int rank, double seconds) {
  workspace_->raise("timeline");
  if (!timeline_->show_push(rank, seconds))
    statusBar()->showMessage(tr("The push of that gradient is no longer on the timeline, which "
                                "holds only the latest ops."),
                             kNewsMilliseconds);
}

// Updates canvas and caveats for the displayed run, a few times a second; measured values only.
void MainWindow::show_live_state() {
  const Run* run = runs_.current();
  if (!run) return;
  const telemetry::History& history = run->history();
  const bool known = history.ranks() > 0;
  if (known && experiment_wanted_) show_experiment_of_run();
  if (known && opened_beside_run_ && !run_wanted_) report_other_experiment();
  if (!overlay_ && known) overlay_.emplace(run->drawing());
  const session::Status* status = run->status() ? &*run->status() : nullptr;
  const bool over = run->complete() && !run->live();
  const topology::Topology& drawing = document_.experiment().topology;
  if (known && !as_drawn_) as_drawn_ = trains_as_run();
  if (overlay_ && drawing_matches_ && over)
    canvas_->set_overlay(overlay_->on(drawing, overlay_->failures(history)));
  if (overlay_ && status && drawing_matches_ && run->live())
    canvas_->set_overlay(
        overlay_->on(drawing,
                     overlay_->overlay(history, status, status->state == session::RunState::running,
                                       &run->cargo()),
                     as_drawn_.value_or(false)));
  const QStringList of_run = run_caveats(history, run->drawing());
  std::vector<RunCaveats> truths;
  for (const Run* shown : runs_.shown())
    truths.push_back(
        {shown->name(), shown == run ? of_run : run_caveats(shown->history(), shown->drawing())});
  charts_->set_badges(merge_caveats(truths) +
                      lag_message(status && !over ? status->step : 0, charts_->steps()));
  timeline_->set_badges(of_run);
  if (over && !(known && opened_beside_run_)) live_.stop();
}

}  // namespace trainyard::ui
