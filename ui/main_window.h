// SPDX-License-Identifier: GPL-3.0-or-later
// Main window of the workbench. It only creates its components and connects them.
#pragma once

#include <QMainWindow>
#include <QSettings>
#include <optional>

#include "ui/appearance.h"
#include "ui/canvas/actions.h"
#include "ui/central_area.h"
#include "ui/close_guard.h"
#include "ui/dock_panels.h"
#include "ui/fault_commands.h"
#include "ui/file_actions.h"
#include "ui/live_run_status.h"
#include "ui/machine_commands.h"
#include "ui/manual/manual_help.h"
#include "ui/model/document/autosave.h"
#include "ui/panel_links.h"
#include "ui/recovery_offers.h"
#include "ui/run_display.h"
#include "ui/run_reports.h"
#include "ui/run_starter.h"
#include "ui/toolbars.h"
#include "ui/workspace.h"

namespace trainyard::ui {

struct Setup {
  Services services;
  QString settings_file;  // empty: the settings file of the user
  QString recovery = recovery_directory();
  std::optional<Questions> questions;  // no value: dialogs ask the user
};

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(Setup setup);

  bool open(
      const QString& path);  // an experiment, or the directory of a run or sweep; starts nothing
  void start_run() { starter_.start(); }
  bool run_wanted() const { return starter_.wanted(); }
  // Offers to attach to live runs, and to recover work after a crash. Called soon after the start.
  void offer_recoveries();

  Document& document() { return document_; }
  Selection& selection() { return selection_; }
  RunSession& runs() { return runs_; }
  FileActions& files() { return files_; }
  RunControls& controls() { return controls_; }
  Workspace& workspace() { return workspace_; }
  CentralArea& center() { return *center_; }
  DockPanels& panels() { return panels_; }
  ManualHelp& manual() { return manual_; }
  MachineCommands& machines() { return machines_; }

 protected:
  void changeEvent(QEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build_menus();
  void connect_document();
  void connect_parts();
  bool open_sweep(const QString& directory);
  void show_document();
  void report_not_saved(const QString& title, const base::Problems& problems);
  void run_ended(Run* run);
  void update_title();
  void fit();

  Setup setup_;
  QSettings settings_;
  Questions questions_;
  Document document_;
  Selection selection_;
  RecentFiles recent_;
  Autosave autosave_;
  Appearance appearance_;
  ManualHelp manual_;
  RunSession runs_;
  FileActions files_;
  RunControls controls_;
  Workspace& workspace_;
  CentralArea* center_;
  CanvasActions* canvas_actions_;
  DockPanels panels_;
  RunStarter starter_;
  LiveRunStatus live_status_;
  RunDisplay display_;
  RunReports reports_;
  FaultCommands faults_;
  MachineCommands machines_;
  PanelLinks links_;
  RecoveryOffers recoveries_;
  CloseGuard close_guard_;
  Toolbars* toolbars_ = nullptr;
};

}  // namespace trainyard::ui
