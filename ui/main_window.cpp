// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLocale>
#include <QMimeData>
#include <QStackedWidget>
#include <QStatusBar>

#include "ui/live_runs.h"
#include "ui/model/run_directory.h"
#include "ui/panels/truths.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

constexpr int kStopPatienceMilliseconds = 8000;
constexpr auto kCharts = "charts/arrangement";

QString settings_path(const Setup& setup) { return setup.settings_file.isEmpty() ? QSettings().fileName() : setup.settings_file; }

// The one thing that is dropped: an experiment, or the directory of a run.
QString dropped_path(const QMimeData& data) {
  if (data.urls().size() != 1 || !data.urls().first().isLocalFile()) return {};
  const QString path = data.urls().first().toLocalFile();
  return QFileInfo(path).isDir() || path.endsWith(".json", Qt::CaseInsensitive) ? path : QString();
}

}  // namespace

MainWindow::MainWindow(Setup setup)
    : setup_(std::move(setup)),
      settings_(settings_path(setup_), QSettings::IniFormat),
      questions_(setup_.questions ? *setup_.questions : dialogs(this)),
      recent_(settings_path(setup_)),
      autosave_(document_, setup_.recovery),
      appearance_(settings_),
      runs_(setup_.services),
      files_(document_, recent_, questions_),
      controls_(document_),
      workspace_(new Workspace(*this, settings_)) {
  setWindowIcon(icon("trainyard"));
  setAcceptDrops(true);
  build_centre();
  build_docks();
  connect_document();
  connect_welcome();
  connect_runs();
  workspace_->restore();
  charts_->grid().arrange(settings_.value(kCharts).toStringList());
  connect(&charts_->grid(), &ChartGrid::arrangement_changed, this, [this] { settings_.setValue(kCharts, charts_->grid().arrangement()); });
  show_welcome(true);
  update_title();
}

MainWindow::~MainWindow() { live_.stop(); }

bool MainWindow::shows_welcome() const { return centre_->currentWidget() == welcome_; }
void MainWindow::show_welcome(bool shown) {
  centre_->setCurrentIndex(shown ? 0 : 1);
  workspace_->set_bare(shown);
}

bool MainWindow::open(const QString& path) {
  if (!QFileInfo(path).isDir()) return files_.open(path);
  open_run(QFileInfo(path).absoluteFilePath());
  return true;
}

void MainWindow::open_run(const QString& directory) {
  drawing_wanted_ = true;
  show_welcome(false);
  workspace_->raise("charts");
  runs_.open(directory);
}

// What stands in the document is run, saved or not. Problems are looked at afresh: the last judgement may be of another state.
bool MainWindow::start_run() {
  if (runs_.live()) return false;
  show_welcome(false);
  if (!document_.has_devices()) return invite_to_draw(), false;
  const base::Problems problems = experiment::validate(document_.experiment(), document_.directory().toStdString());
  if (!problems.empty()) {
    workspace_->raise("problems");
    show_problems(tr("This experiment cannot run yet"), problems);
    errors_->offer(tr("Show where"), [this, where = QString::fromStdString(problems.front().where)] { go_to(where); });
    return false;
  }
  errors_->hide();
  drawing_wanted_ = false;
  if (const auto started = runs_.start(document_.experiment(), document_.directory()); !started) {
    errors_->show_problem(tr("The run could not start"), started.error());
    return false;
  }
  workspace_->raise("charts");
  return true;
}

void MainWindow::invite_to_draw() {
  errors_->show_text(Banner::Kind::information, tr("There is nothing to train on yet"),
                     tr("Drag a device from the palette to the canvas, or press Ctrl+1 there. It brings its host with it."));
  errors_->offer(tr("Place a CPU"), [this] { canvas_->place_in_middle(PartKind::cpu); });
}

void MainWindow::update_title() {
  setWindowTitle(tr("%1[*] — Trainyard").arg(document_.title()));
  setWindowModified(document_.dirty());
  setWindowFilePath(document_.file());
}

void MainWindow::show_problem_count(int count) { workspace_->set_title("problems", count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count)); }

void MainWindow::show_problems(const QString& title, const base::Problems& problems) {
  if (problems.size() == 1) return errors_->show_problem(title, problems.front());
  errors_->show_text(Banner::Kind::error, title, QString::fromStdString(base::to_string(problems)));
}

void MainWindow::go_to(const QString& path) {
  show_welcome(false);
  workspace_->raise("inspector");
  inspector_->go_to(path);
}

void MainWindow::run_changed() {
  Run* run = runs_.current();
  problem_said_ = false;
  drawing_fits_ = true;
  overlay_.reset();
  canvas_->clear_overlay();
  controls_.set_run(run);
  state_bar_->set_run(run);
  log_->set_run(run);
  if (!run) return;
  connect(run, &Run::updated, this, &MainWindow::run_updated);
  live_.start();
  runs_panel_->refresh();
}

// A failure is told at once, in full; the rest is shown by the clock.
void MainWindow::run_updated() {
  if (problem_said_) return;
  const Run& run = *runs_.current();
  std::optional<base::Problem> problem = problem_of(run.history());
  if (run.status() && run.status()->problem) problem = run.status()->problem;
  if (!problem) return;
  problem_said_ = true;
  if (problem->code == base::ProblemCode::cancelled)
    errors_->show_text(Banner::Kind::information, tr("The run was stopped"), tr("What it recorded until then is kept."));
  else errors_->show_problem(tr("The run failed"), *problem);
}

void MainWindow::run_ended() {
  canvas_->clear_overlay();
  show_live_state();
  runs_panel_->set_live({});
  runs_panel_->refresh();
  QApplication::alert(this);
  if (closing_) close();
}

// An opened run comes with its drawing: in place of an untouched document at once, else when a person says so.
void MainWindow::show_drawing_of_run() {
  drawing_wanted_ = false;
  const auto recorded = recorded_experiment(runs_.current()->history());
  match_drawing();
  if (!recorded || drawing_fits_) return;
  const auto open = [this, experiment = *recorded] { files_.open_as_new(experiment); };
  if (document_.file().isEmpty() && !document_.dirty() && !document_.has_devices()) return open();
  offers_->show_text(Banner::Kind::information, tr("This run trained another drawing than the one on the canvas"), tr("Its charts, log and result are below."));
  offers_->offer(tr("Show its drawing"), open);
}

// What was measured is never shown on another drawing. Edits since then do not make it another: names tell things apart.
void MainWindow::match_drawing() {
  if (!runs_.current()) return;
  drawing_fits_ = all_names(recorded_topology(runs_.current()->history())) == all_names(document_.experiment().topology);
  if (!drawing_fits_) canvas_->clear_overlay();
}

// Of the run that is shown: canvas and truths, a few times a second; only what was measured.
void MainWindow::show_live_state() {
  const Run* run = runs_.current();
  if (!run) return;
  const telemetry::History& history = run->history();
  if (drawing_wanted_ && history.ranks() > 0) show_drawing_of_run();
  if (!overlay_ && history.ranks() > 0) overlay_.emplace(recorded_topology(history));
  const session::Status* status = run->status() ? &*run->status() : nullptr;
  if (overlay_ && status && drawing_fits_ && run->live()) canvas_->set_overlay(overlay_->overlay(history, status, status->state == session::RunState::running));
  QStringList truths;
  for (const Run* shown : runs_.shown())
    for (const QString& truth : truths_of(shown->history(), cores_of_this_machine()))
      if (!truths.contains(truth)) truths << truth;
  charts_->set_badges(truths);
  runs_panel_->set_live(run->live() ? QStringList{run->directory()} : QStringList());
  if (run->complete() && !run->live()) live_.stop();
}

void MainWindow::open_run_by_dialog() {
  const QString directory = questions_.run_to_open(setup_.services.runs_directory);
  if (!directory.isEmpty()) open(directory);
}

void MainWindow::offer_what_was_left() {
  offer_recovery();
  find_live_runs_later(setup_.services, this, [this](const QStringList& live) {
    if (live.isEmpty() || runs_.live()) return;
    const QString first = live.first();
    const QString more = live.size() > 1 ? tr(" %1 more live too: see Runs.").arg(live.size() - 1) : QString();
    offers_->show_text(Banner::Kind::information, tr("A run is still alive: %1").arg(run_name(first)),
                       tr("It was left running, or its window was lost.") + more);
    offers_->offer(tr("Attach"), [this, first] { open_run(first); });
    runs_panel_->set_live(live);
  });
}

void MainWindow::offer_recovery() {
  const std::vector<Recovery> left = find_recoveries(setup_.recovery);
  if (left.empty()) return;
  const Recovery& newest = left.front();
  const QString name = newest.file.isEmpty() ? QString::fromStdString(newest.experiment.name) : QFileInfo(newest.file).fileName();
  offers_->show_text(Banner::Kind::warning, tr("Unsaved work was found: %1").arg(name.isEmpty() ? tr("an experiment that was never saved") : name),
                     tr("Trainyard did not end in peace. The copy is of %1.").arg(QLocale().toString(newest.saved, QLocale::ShortFormat)));
  offers_->offer(tr("Recover"), [this, newest] {
    if (!files_.may_discard()) return;
    autosave_.recover(newest);
    show_welcome(false);
  });
}

bool MainWindow::may_close() {
  if (closing_ && runs_.live()) return true;  // it did not stop in time; it is left running
  if (!closing_ && !files_.may_discard()) return false;
  if (!runs_.live()) return true;
  switch (questions_.close_while_running(runs_.current()->name())) {
    case LiveRunAnswer::leave_running: return true;
    case LiveRunAnswer::stop: stop_and_close(); break;
    case LiveRunAnswer::cancel: break;
  }
  return false;
}

// Closes when the run says that it has ended.
void MainWindow::stop_and_close() {
  closing_ = true;
  runs_.current()->stop();
  statusBar()->showMessage(tr("Stopping the run ..."));
  QTimer::singleShot(kStopPatienceMilliseconds, this, [this] { close(); });
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!may_close()) return event->ignore();
  workspace_->save();
  event->accept();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  fit_toolbar();
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!dropped_path(*event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  const QString path = dropped_path(*event->mimeData());
  if (path.isEmpty()) return;
  event->acceptProposedAction();
  open(path);
}

}  // namespace trainyard::ui
