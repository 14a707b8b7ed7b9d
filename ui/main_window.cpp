// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window.h"

#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLocale>
#include <QMimeData>
#include <QShortcut>
#include <QStackedWidget>
#include <QStatusBar>
#include <algorithm>

#include "core/experiment/document.h"
#include "core/session/sweep_file.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

constexpr int kStopPatienceMilliseconds = 8000;
constexpr auto kCharts = "charts/arrangement";
constexpr QSize kLeastSize(720, 480);  // smaller windows leave no room for the drawing
constexpr std::size_t kProblemsShown = 3;

QString settings_path(const Setup& setup) {
  return setup.settings_file.isEmpty() ? QSettings().fileName() : setup.settings_file;
}

// Returns the path of a single dropped experiment or run directory.
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
      manual_(setup_.services.manual_directory, settings_,
              [this] { return document_.experiment().strategy; }),
      runs_(setup_.services),
      files_(document_, recent_, questions_, setup_.services.examples_directory),
      controls_(document_),
      workspace_(new Workspace(*this, settings_)) {
  setWindowIcon(icon("trainyard"));
  setAcceptDrops(true);
  setMinimumSize(kLeastSize);
  build_center();
  build_docks();
  connect_document();
  connect_welcome();
  connect_runs();
  connect_stepper();
  connect_scaling();
  connect_model();
  workspace_->restore();
  charts_->grid().arrange(settings_.value(kCharts).toStringList());
  connect(&charts_->grid(), &ChartGrid::arrangement_changed, this,
          [this] { settings_.setValue(kCharts, charts_->grid().arrangement()); });
  show_welcome(true);
  update_title();
}

MainWindow::~MainWindow() { live_.stop(); }

bool MainWindow::shows_welcome() const { return center_->currentWidget() == welcome_; }
void MainWindow::show_welcome(bool shown) {
  center_->setCurrentIndex(shown ? 0 : 1);
  leave_welcome_->setEnabled(shown);
  workspace_->hide_all_docks(shown);
  fit_toolbars();
}

bool MainWindow::open(const QString& path) {
  if (!QFileInfo(path).isDir()) return files_.open(path);
  if (QDir(path).exists(session::kSweepFile)) return open_sweep(path);
  open_run(QDir::cleanPath(QFileInfo(path).absoluteFilePath()));
  return true;
}

bool MainWindow::open_sweep(const QString& directory) {
  show_welcome(false);
  workspace_->raise("scaling");
  if (scaling_->sweeping()) {
    errors_->show_text(Banner::Kind::information, tr("A sweep is running"),
                       tr("Wait until it ends or cancel it before you open another sweep."));
    return false;
  }
  // Also opens the sweep's experiment, if the document has no file and no unsaved changes; that may
  // hide the panel, which is therefore raised.
  if (const auto swept =
          experiment::load(QDir(directory).filePath("experiment.json").toStdString());
      swept && document_.file().isEmpty() && !document_.dirty() && files_.open_as_new(*swept))
    workspace_->raise("scaling");
  scaling_->open_sweep(directory);
  return true;
}

void MainWindow::document_opened() {
  errors_->hide();
  begin_with_document();
}

void MainWindow::begin_with_document() {
  offers_->look_again();
  selection_.clear();
  match_drawing();
  experiment_wanted_ = false;  // replaced by this document
  resume_from_.clear();
  if (std::exchange(run_wanted_, false)) {  // another document's run was requested
    controls_.set_startable(true);
    statusBar()->clearMessage();
  }
  opened_beside_run_ = runs_.current() != nullptr;
  if (opened_beside_run_) live_.start();
  show_welcome(false);
  canvas_->zoom_to_fit();
}

// Runs the current document, saved or not. Validates it again, because data files may have changed;
// large files take a while.
void MainWindow::start_run() {
  if (runs_.live() || run_wanted_) return;
  if (scaling_->sweeping()) return refuse_beside_sweep();
  show_welcome(false);
  if (!document_.has_devices()) return invite_to_draw();
  run_wanted_ = true;
  controls_.set_startable(false);
  statusBar()->showMessage(tr("Checking the experiment and its data ..."));
  document_.judge();
}

void MainWindow::refuse_beside_sweep() {
  show_welcome(false);
  workspace_->raise("scaling");
  errors_->show_text(Banner::Kind::information, tr("A sweep is running"),
                     tr("A concurrent run would share its CPU cores and distort its figures. Wait "
                        "until the sweep ends or cancel it; finished runs are kept."));
  errors_->offer(tr("Cancel the sweep"), [this] {
    scaling_->cancel();
    return true;
  });
  errors_->stays_until([this] { return !scaling_->sweeping(); });
}

void MainWindow::start_wanted_run() {
  const QString goes_on_from = std::exchange(resume_from_, {});
  if (!std::exchange(run_wanted_, false) || isHidden()) return;  // closed meanwhile
  controls_.set_startable(true);
  statusBar()->clearMessage();
  if (runs_.live()) return;  // a run was attached meanwhile
  if (scaling_->sweeping()) return refuse_beside_sweep();
  if (!document_.problems().empty())
    return refuse_to_run(document_.readable_problems(),
                         [this] { return document_.problems().empty(); });
  if (const ReadableProblems room = inspector_->cost().room(); !room.empty())
    return refuse_to_run(room, [this] { return inspector_->cost().room().empty(); });
  errors_->hide();
  experiment_wanted_ = false;
  experiment::Experiment experiment = document_.experiment();
  if (!goes_on_from.isEmpty()) experiment.run.resume_from = goes_on_from.toStdString();
  if (const auto started = runs_.start(experiment, document_.directory(), document_.name());
      !started)
    return errors_->show_problem(tr("The run could not start"), started.error());
  workspace_->show_charts();
}

void MainWindow::refuse_to_run(const ReadableProblems& problems, std::function<bool()> mended) {
  workspace_->raise("problems");
  base::Problems told;
  for (const ReadableProblem& problem : problems) told.push_back(problem.told);
  show_problems(tr("This experiment cannot run yet"), told);
  errors_->offer(tr("Show location"),
                 [this, where = QString::fromStdString(problems.front().found.where)] {
                   go_to(where);
                   return true;
                 });
  errors_->stays_until(std::move(mended));
}

// The banner stays until saving succeeds, or the refused input that prevented saving is corrected.
void MainWindow::report_not_saved(const QString& title, const base::Problems& problems) {
  show_problems(title, problems);
  errors_->stays_until([this, before = files_.saves(), typed = document_.refused().has_value()] {
    return files_.saves() > before || (typed && !document_.refused());
  });
}

void MainWindow::invite_to_draw() {
  errors_->show_text(Banner::Kind::information, tr("There is nothing to train on yet"),
                     tr("Drag a device from the palette to the canvas, or press Ctrl+1 there. Its "
                        "host is added with it."));
  errors_->offer(tr("Place a CPU"), [this] {
    canvas_->place_in_middle(PaletteKind::cpu);
    return true;
  });
  errors_->stays_until([this] { return document_.has_devices(); });
}

void MainWindow::update_title() {
  setWindowTitle(tr("%1[*] — Trainyard").arg(document_.title()));
  setWindowModified(document_.dirty());
  setWindowFilePath(document_.file());
}

void MainWindow::show_problem_count(int count) {
  workspace_->set_title("problems", count == 0 ? tr("Problems") : tr("Problems (%1)").arg(count));
}

void MainWindow::show_problems(const QString& title, const base::Problems& problems) {
  if (problems.size() == 1) return errors_->show_problem(title, problems.front());
  const base::Problems first(
      problems.begin(),
      problems.begin() + static_cast<std::ptrdiff_t>(std::min(problems.size(), kProblemsShown)));
  QString text = QString::fromStdString(base::to_string(first));
  if (problems.size() > first.size())
    text += "\n" + tr("and %1 more").arg(problems.size() - first.size());
  errors_->show_text(Banner::Kind::error, title, text);
}

void MainWindow::go_to(const QString& path) {
  show_welcome(false);
  workspace_->raise("inspector");
  inspector_->go_to(path);
}

void MainWindow::offer_recovery() {
  recoveries_ = find_recoveries(setup_.recovery);
  offer_next_recovery();
}

// Offers one recovery at a time, the newest first.
void MainWindow::offer_next_recovery() {
  if (recoveries_.empty()) return;
  const Recovery newest = recoveries_.front();
  recoveries_.erase(recoveries_.begin());
  const QString name = newest.file.isEmpty() ? QString::fromStdString(newest.experiment.name)
                                             : QFileInfo(newest.file).fileName();
  recovery_banner_->show_text(
      Banner::Kind::warning,
      tr("Unsaved work found: %1")
          .arg(name.isEmpty() ? tr("an experiment that was never saved") : name),
      tr("Trainyard was not closed properly. The autosaved copy is from %1.")
          .arg(QLocale().toString(newest.saved, QLocale::ShortFormat)));
  recovery_banner_->offer(tr("Recover"), [this, newest] {
    if (!files_.may_discard()) return false;
    errors_->hide();
    autosave_.recover(newest);  // reports if it cannot be kept safe
    begin_with_document();
    offer_next_recovery();
    return true;
  });
}

bool MainWindow::may_close() {
  if (closing_ && runs_.live()) return true;  // it did not stop in time and is left running
  if (!closing_ && !files_.may_discard()) return false;
  if (!runs_.live()) return true;
  switch (questions_.close_while_running(live_names().join(", "))) {
    case LiveRunAnswer::leave_running: return true;
    case LiveRunAnswer::stop:
      if (!runs_.live()) return true;  // it ended while the dialog was open
      stop_and_close();
      break;
    case LiveRunAnswer::cancel: break;
  }
  return false;
}

// Stops all live runs, then closes when they have ended.
void MainWindow::stop_and_close() {
  closing_ = true;
  setEnabled(false);  // edits would be discarded without a question
  for (Run* run : runs_.live_runs()) run->stop();
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
  fit();
}

// Child widgets get a new font only after the window does.
void MainWindow::changeEvent(QEvent* event) {
  QMainWindow::changeEvent(event);
  if (event->type() == QEvent::FontChange)
    QMetaObject::invokeMethod(this, &MainWindow::fit, Qt::QueuedConnection);
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
