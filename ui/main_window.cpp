// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/main_window.h"

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QStatusBar>
#include <utility>

#include "core/experiment/document.h"
#include "core/session/sweep/sweep_file.h"
#include "ui/menus.h"
#include "ui/theme/icons.h"

namespace trainyard::ui {
namespace {

constexpr auto kCharts = "charts/arrangement";
constexpr QSize kMinSize(720, 480);  // smaller windows leave no room for the drawing

QString settings_path(const Setup& setup) {
  return setup.settings_file.isEmpty() ? QSettings().fileName() : setup.settings_file;
}

// Returns the path if exactly one experiment file or run directory was dropped; otherwise an empty
// string.
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
      workspace_(*new Workspace(*this, settings_)),
      center_(new CentralArea(document_, selection_, recent_, setup_.services.examples_directory,
                              this)),
      canvas_actions_(new CanvasActions(document_, selection_, center_->canvas(), this)),
      panels_(*this, workspace_, *center_, document_, selection_, setup_.services),
      starter_(*this, document_, runs_, controls_, workspace_, *center_, panels_),
      live_status_(runs_, controls_, *center_, panels_),
      display_(document_, files_, runs_, starter_, workspace_, *center_, panels_),
      reports_(*this, runs_, display_, starter_, workspace_, *center_, panels_),
      faults_(runs_, center_->canvas(), questions_),
      machines_(*this, document_, setup_.services, workspace_, *center_, *canvas_actions_, panels_,
                manual_, questions_),
      links_(*this, runs_, display_, workspace_, *center_, panels_),
      recoveries_(autosave_, files_, *center_, setup_.recovery),
      close_guard_(*this, files_, runs_, questions_) {
  setWindowIcon(icon("trainyard"));
  setAcceptDrops(true);
  setMinimumSize(kMinSize);
  setCentralWidget(center_);
  build_menus();
  toolbars_ = new Toolbars(*this, files_, workspace_, controls_, *panels_.charts.freeze_action());
  connect_document();
  connect_parts();
  workspace_.restore();
  panels_.charts.grid().arrange(settings_.value(kCharts).toStringList());
  connect(&panels_.charts.grid(), &ChartGrid::arrangement_changed, this,
          [this] { settings_.setValue(kCharts, panels_.charts.grid().arrangement()); });
  center_->show_welcome(true);
  update_title();
}

void MainWindow::build_menus() {
  const auto open_run = [this] {
    const QString directory = questions_.run_to_open(setup_.services.runs_directory);
    if (!directory.isEmpty()) open(directory);
  };
  fill_menu_bar(*this, {document_, files_, *canvas_actions_, controls_, panels_.charts, workspace_,
                        appearance_, manual_, machines_, open_run,
                        [this] { center_->show_welcome(!center_->shows_welcome()); }});
}

void MainWindow::connect_document() {
  Banner& errors = center_->errors();
  for (const auto signal : {&Document::file_changed, &Document::changed})
    connect(&document_, signal, this, &MainWindow::update_title);
  for (const auto signal : {&Document::changed, &Document::problems_changed})
    connect(&document_, signal, &errors, &Banner::recheck);
  connect(&files_, &FileActions::failed, &errors, &Banner::show_problems);
  connect(&files_, &FileActions::not_saved, this, &MainWindow::report_not_saved);
  connect(&files_, &FileActions::saved, &errors, &Banner::recheck);
  connect(&files_, &FileActions::opened, this, [this] {
    center_->errors().hide();
    show_document();
  });
  connect(&recoveries_, &RecoveryOffers::recovered, this, &MainWindow::show_document);
  connect(&center_->canvas(), &TopologyView::message, this,
          [this](const QString& text) { statusBar()->showMessage(text, 5000); });
  const WelcomePage& welcome = center_->welcome();
  connect(&welcome, &WelcomePage::open_requested, &files_, &FileActions::open);
  connect(&welcome, &WelcomePage::open_dialog_requested, &files_, &FileActions::open_by_dialog);
  connect(&welcome, &WelcomePage::new_requested, &files_, &FileActions::new_document);
  connect(&welcome, &WelcomePage::run_requested, this,
          [this](const experiment::Experiment& experiment, const QString& file) {
            if (file.isEmpty() ? files_.open_as_new(experiment) : files_.open(file)) start_run();
          });
}

void MainWindow::connect_parts() {
  connect(center_, &CentralArea::welcome_shown, this, [this](bool shown) {
    workspace_.hide_all_docks(shown);
    toolbars_->fit();
  });
  connect(&workspace_, &Workspace::wanted, this, [this] { center_->show_welcome(false); });
  connect(&runs_, &RunSession::ended, this, &MainWindow::run_ended);
  connect(&starter_, &RunStarter::location_requested, &links_, &PanelLinks::show_field);
  connect(&machines_, &MachineCommands::local_run_requested, &starter_,
          &RunStarter::start_on_this_machine);
  connect(&live_status_, &LiveRunStatus::attach_requested, &display_, &RunDisplay::open);
  connect(&panels_.scaling, &ScalingPanel::sweeping_changed, this, [this] {
    center_->errors().recheck();
    if (!panels_.scaling.sweeping()) QApplication::alert(this);
  });
}

bool MainWindow::open(const QString& path) {
  if (!QFileInfo(path).isDir()) return files_.open(path);
  if (QDir(path).exists(session::kSweepFile)) return open_sweep(path);
  display_.open(QDir::cleanPath(QFileInfo(path).absoluteFilePath()));
  return true;
}

bool MainWindow::open_sweep(const QString& directory) {
  center_->show_welcome(false);
  workspace_.raise("scaling");
  if (panels_.scaling.sweeping()) {
    center_->errors().show_text(
        Banner::Kind::information, tr("A sweep is running"),
        tr("Wait until it ends or cancel it before you open another sweep."));
    return false;
  }
  // Opens a sweep. If the document has no file and no unsaved changes, also opens the sweep's
  // experiment. That may hide the sweep panel, so the panel is raised again.
  if (const auto swept =
          experiment::load(QDir(directory).filePath("experiment.json").toStdString());
      swept && document_.file().isEmpty() && !document_.dirty() && files_.open_as_new(*swept))
    workspace_.raise("scaling");
  panels_.scaling.open_sweep(directory);
  return true;
}

void MainWindow::offer_recoveries() {
  recoveries_.look();
  panels_.scaling.list_sweeps_later();
  live_status_.find_earlier_runs(setup_.services);
}

// Shows a document that was just opened or recovered.
void MainWindow::show_document() {
  center_->offers().recheck();
  selection_.clear();
  starter_.cancel();  // cancels a run that was requested for the previous document
  display_.document_opened();
  center_->show_welcome(false);
  center_->canvas().zoom_to_fit();
  machines_.document_opened();
}

// Reports that saving failed. The banner stays until saving succeeds. If input that was refused in
// a field prevented saving, the banner stays until that input is corrected.
void MainWindow::report_not_saved(const QString& title, const base::Problems& problems) {
  center_->errors().show_problems(title, problems);
  center_->errors().stays_until(
      [this, before = files_.saves(), typed = document_.refused().has_value()] {
        return files_.saves() > before || (typed && !document_.refused());
      });
}

void MainWindow::run_ended(Run* run) {
  live_status_.run_ended(*run);
  reports_.run_ended(*run);
  display_.run_ended(*run);
  panels_.runs.refresh();
  QApplication::alert(this);
  close_guard_.run_ended();
}

void MainWindow::update_title() {
  setWindowTitle(tr("%1[*] — Trainyard").arg(document_.title()));
  setWindowModified(document_.dirty());
  setWindowFilePath(document_.file());
}

// Adapts the layout to the size of the window and its font. A large font in a small window leaves
// no room for a chart. If that happens while a run is displayed, raises the charts and hides other
// docks.
void MainWindow::fit() {
  if (!toolbars_) return;
  if (workspace_.fit() && runs_.current())
    QMetaObject::invokeMethod(&workspace_, &Workspace::show_charts, Qt::QueuedConnection);
  toolbars_->fit();
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!close_guard_.may_close()) return event->ignore();
  workspace_.save();
  event->accept();
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  fit();
}

// Adapts the layout to a new font. Does so in the next event, because child widgets receive the
// font after the window.
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
