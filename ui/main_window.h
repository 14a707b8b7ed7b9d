// SPDX-License-Identifier: GPL-3.0-or-later
// Main window of the workbench. It only connects its parts.
#pragma once

#include <QMainWindow>
#include <QSettings>
#include <QTimer>
#include <memory>
#include <optional>

#include "ui/appearance.h"
#include "ui/canvas/actions.h"
#include "ui/canvas/topology_view.h"
#include "ui/charts/run_charts.h"
#include "ui/file_actions.h"
#include "ui/inspector/inspector.h"
#include "ui/manual/manual_help.h"
#include "ui/model/autosave.h"
#include "ui/modelview/model_panel.h"
#include "ui/panels/banner.h"
#include "ui/panels/log_panel.h"
#include "ui/panels/plan_panel.h"
#include "ui/panels/problems_panel.h"
#include "ui/panels/run_controls.h"
#include "ui/panels/run_state_bar.h"
#include "ui/panels/text_panel.h"
#include "ui/run_overlay.h"
#include "ui/run_session.h"
#include "ui/runs/runs_panel.h"
#include "ui/scaling/scaling_panel.h"
#include "ui/staleness/staleness_panel.h"
#include "ui/stepper/stepper_panel.h"
#include "ui/timeline/timeline_panel.h"
#include "ui/welcome/welcome_page.h"
#include "ui/workspace.h"

class QShortcut;
class QStackedWidget;
class QToolBar;

namespace trainyard::ui {

struct Setup {
  Services services;
  QString settings_file;  // empty: the user's settings
  QString recovery = recovery_directory();
  std::optional<Questions> questions;  // default: dialogs
};

class MainWindow : public QMainWindow {
  Q_OBJECT
 public:
  explicit MainWindow(Setup setup);
  ~MainWindow() override;

  bool open(
      const QString& path);  // an experiment, or the directory of a run or sweep; starts nothing
  void start_run();          // runs the document after validation, or shows its problems
  bool run_wanted() const { return run_wanted_; }  // requested, but validation is not finished
  // live runs, and work recovered from a crash; called soon after the start
  void offer_recoveries();

  Document& document() { return document_; }
  Selection& selection() { return selection_; }
  RunSession& runs() { return runs_; }
  FileActions& files() { return files_; }
  TopologyView& canvas() { return *canvas_; }
  Inspector& inspector() { return *inspector_; }
  RunCharts& charts() { return *charts_; }
  RunControls& controls() { return controls_; }
  PlanPanel& plan() { return *plan_; }
  TimelinePanel& timeline() { return *timeline_; }
  StepperPanel& stepper() { return *stepper_; }
  ModelPanel& model() { return *model_; }
  LogPanel& log() { return *log_; }
  RunsPanel& runs_panel() { return *runs_panel_; }
  ScalingPanel& scaling() { return *scaling_; }
  Workspace& workspace() { return *workspace_; }
  WelcomePage& welcome() { return *welcome_; }
  ManualHelp& manual() { return manual_; }
  Banner& errors() { return *errors_; }
  Banner& offers() { return *offers_; }
  Banner& left_unsaved() { return *recovery_banner_; }
  bool shows_welcome() const;
  void show_welcome(bool shown);

 protected:
  void changeEvent(QEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void build_center();
  void build_docks();
  void build_file_menu();
  void build_edit_menus();
  void build_run_menu();
  void build_view_menu();
  void build_help_menu();
  void build_toolbars();
  void fit();
  void fit_toolbars();
  void hide_button_text(int actions);
  void connect_document();
  void connect_welcome();
  void connect_runs();
  void connect_stepper();
  void connect_scaling();
  void connect_model();
  void refuse_beside_sweep();
  void invite_to_draw();
  void start_wanted_run();
  void refuse_to_run(const ReadableProblems& problems, std::function<bool()> mended);
  void report_not_saved(const QString& title, const base::Problems& problems);
  void update_title();
  void show_problem_count(int count);
  void show_problems(const QString& title, const base::Problems& problems);
  void go_to(const QString& path);
  void run_changed();
  void update_run_controls();
  QStringList live_names() const;
  QString called(const Run& run) const;
  void run_updated(Run* run);
  void report_failure(const Run& run);
  void run_in_trouble(Run* run, const QString& text);
  void offer_resume(const Run& run);
  void offer_log(const Run& run, std::optional<int> rank);
  void run_ended(Run* run);
  void report_lost_coordinator(const Run& run);
  void offer_for_rank(QMenu& menu, const Part& part);
  void offer_for_link(QMenu& menu, const Part& part);
  void befall(Run& run, session::Command fault, int rank);
  void show_live_state();
  void show_experiment_of_run();
  bool open_experiment_of_run();
  void report_other_experiment();
  void document_opened();
  void begin_with_document();
  bool trains_as_run() const;  // true if the document would train what the displayed run trained
  void match_drawing();
  void show_push(int rank, double seconds);
  void show_in_plan(int rank, const QString& program, const QString& token, bool raise);
  void open_run(const QString& directory);
  bool open_sweep(const QString& directory);
  void open_run_by_dialog();
  void offer_recovery();
  void offer_next_recovery();
  bool may_close();
  void stop_and_close();

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
  Workspace* workspace_;
  QStackedWidget* center_ = nullptr;
  QShortcut* leave_welcome_ = nullptr;
  TopologyView* canvas_ = nullptr;
  CanvasActions* canvas_actions_ = nullptr;
  QToolBar *tools_ = nullptr, *run_tools_ = nullptr;
  WelcomePage* welcome_ = nullptr;
  std::vector<Recovery> recoveries_;  // not offered yet
  Banner *errors_ = nullptr, *recovery_banner_ = nullptr, *offers_ = nullptr;
  RunStateBar* state_bar_ = nullptr;
  Inspector* inspector_ = nullptr;
  RunCharts* charts_ = nullptr;
  TimelinePanel* timeline_ = nullptr;
  PlanPanel* plan_ = nullptr;
  StepperPanel* stepper_ = nullptr;
  LogPanel* log_ = nullptr;
  ProblemsPanel* problems_ = nullptr;
  RunsPanel* runs_panel_ = nullptr;
  ScalingPanel* scaling_ = nullptr;
  StalenessPanel* staleness_ = nullptr;
  SampledTextPanel* text_ = nullptr;
  ModelPanel* model_ = nullptr;
  std::optional<RunOverlay> overlay_;
  QTimer live_;                    // updates canvas and caveats while a run is displayed
  QStringList reported_failures_;  // directories of runs whose failure was shown
  QStringList earlier_live_runs_;  // runs that were already live when this window started
  bool closing_ = false, run_wanted_ = false, drawing_matches_ = true;
  // directory of the run from which the requested run resumes; not part of the document
  QString resume_from_;
  bool experiment_wanted_ = false;  // waiting for the experiment of the opened run
  std::optional<bool> as_drawn_;  // the displayed run trains the drawing; nothing: not compared yet
  bool opened_beside_run_ =
      false;  // a document was opened and not yet compared to the displayed run
};

}  // namespace trainyard::ui
