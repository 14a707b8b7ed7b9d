// SPDX-License-Identifier: GPL-3.0-or-later
// Construction of the main window: central widget, docks, menus, toolbar and connections.
#include <QApplication>
#include <QDockWidget>
#include <QFileInfo>
#include <QMenuBar>
#include <QShortcut>
#include <QStackedWidget>
#include <QStatusBar>
#include <QToolBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "ui/canvas/topology_tree.h"
#include "ui/canvas/traffic_text.h"
#include "ui/help.h"
#include "ui/main_window.h"
#include "ui/model/recorded.h"
#include "ui/theme/icons.h"
#include "ui/theme/manual_topic.h"
#include "ui/theme/theme.h"

namespace trainyard::ui {
namespace {

constexpr int kLiveMilliseconds = 200;

}  // namespace

void MainWindow::build_center() {
  auto* whole = new QWidget(this);
  auto* column = new QVBoxLayout(whole);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(errors_ = new Banner(whole));
  column->addWidget(recovery_banner_ = new Banner(whole));
  column->addWidget(offers_ = new Banner(whole));
  connect(recovery_banner_, &Banner::closed, this, &MainWindow::offer_next_recovery);
  column->addWidget(center_ = new QStackedWidget(whole), 1);
  column->addWidget(state_bar_ = new RunStateBar(whole));
  center_->addWidget(welcome_ =
                         new WelcomePage(setup_.services.examples_directory, recent_, center_));
  center_->addWidget(canvas_ = new TopologyView(document_, selection_, center_));
  welcome_->setMinimumHeight(kGrid);  // it scrolls, and must not force a height on the canvas
  canvas_actions_ = new CanvasActions(document_, selection_, *canvas_, this);
  canvas_->add_to_context_menu(
      [this](QMenu& menu, const Part& part) { offer_for_rank(menu, part); });
  canvas_->add_to_context_menu(
      [this](QMenu& menu, const Part& part) { offer_for_link(menu, part); });
  set_manual_topic(canvas_, "canvas");
  set_manual_topic(welcome_, "getting_started");
  setCentralWidget(whole);
}

void MainWindow::build_docks() {
  auto* palette_list = new Palette(this);
  connect(palette_list, &Palette::chosen, this,
          [this](PaletteKind kind) { show_welcome(false), canvas_->place_in_middle(kind); });
  connect(palette_list, &Palette::gpu_chosen, this, [this](const topology::Device& gpu) {
    show_welcome(false), canvas_->place_in_middle(gpu);
  });
  auto* gpus = new MachineGpus(this);
  connect(gpus, &MachineGpus::found, palette_list, &Palette::offer);
  gpus->look(setup_.services);
  connect(palette_list, &Palette::role_chosen, canvas_,
          qOverload<topology::Role>(&TopologyView::give_role));
  auto* tree = new TopologyTree(document_, selection_, this);
  connect(tree, &TopologyTree::message, statusBar(),
          [this](const QString& text) { statusBar()->showMessage(text, 5000); });
  workspace_->add("palette", tr("Palette"), Workspace::Area::left, palette_list);
  workspace_->add("drawing", tr("Drawing"), Workspace::Area::left, tree);
  workspace_->add("inspector", tr("Inspector"), Workspace::Area::right,
                  inspector_ = new Inspector(document_, selection_, this));
  connect(inspector_, &Inspector::picture_wanted, canvas_, &TopologyView::show_logical);
  connect(&inspector_->cost(), &CostLine::stages_known, canvas_,
          [this](const StageAssignment& stages) { canvas_->show_layers(stages.layers); });
  connect(&inspector_->cost(), &CostLine::shards_known, canvas_, &TopologyView::show_shards);
  inspector_->set_measured([this](const SelectedObjects& picked) {
    const auto& overlay = canvas_->topology_scene().overlay();
    return overlay ? lines_of_picked(*overlay, picked) : QStringList();
  });
  connect(&canvas_->topology_scene(), &TopologyScene::overlay_changed, inspector_,
          &Inspector::show_measured);
  inspector_->set_recorded_assignment([this] {
    return runs_.current() && trains_as_run() ? recorded_assignment(runs_.current()->history())
                                              : DataAssignment();
  });
  workspace_->add("charts", tr("Charts"), Workspace::Area::bottom, charts_ = new RunCharts(this));
  workspace_->add("timeline", tr("Timeline"), Workspace::Area::bottom,
                  timeline_ = new TimelinePanel(this));
  connect(&inspector_->cost(), &CostLine::pipeline_known, timeline_, &TimelinePanel::set_drawing);
  workspace_->add("plan", tr("Plan"), Workspace::Area::bottom,
                  plan_ = new PlanPanel(document_, this));
  workspace_->add("stepper", tr("Stepper"), Workspace::Area::bottom,
                  stepper_ = new StepperPanel(document_, this));
  workspace_->add("staleness", tr("Staleness"), Workspace::Area::bottom,
                  staleness_ = new StalenessPanel(this));
  workspace_->add("log", tr("Log"), Workspace::Area::bottom, log_ = new LogPanel(this));
  workspace_->add("problems", tr("Problems"), Workspace::Area::bottom,
                  problems_ = new ProblemsPanel(document_, this));
  workspace_->add("runs", tr("Runs"), Workspace::Area::bottom,
                  runs_panel_ = new RunsPanel(setup_.services.runs_directory, this));
  workspace_->add("scaling", tr("Scaling"), Workspace::Area::bottom,
                  scaling_ = new ScalingPanel(document_, setup_.services, this));
  workspace_->add("text", tr("Text"), Workspace::Area::bottom, text_ = new SampledTextPanel(this));
  workspace_->add("model", tr("Model"), Workspace::Area::bottom,
                  model_ = new ModelPanel(document_, this));
  build_file_menu();
  build_edit_menus();
  build_run_menu();
  build_view_menu();
  build_help_menu();
  build_toolbars();
}

void MainWindow::build_file_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&File"));
  files_.fill_menu(menu);
  menu.addSeparator();
  menu.addAction(icon("runs"), tr("Open r&un ..."), QKeySequence("Ctrl+Shift+O"), this,
                 &MainWindow::open_run_by_dialog);
  menu.addAction(icon("home"), tr("&Welcome page"), QKeySequence("Ctrl+Shift+W"), this,
                 [this] { show_welcome(!shows_welcome()); });
  menu.addSeparator();
  menu.addAction(tr("&Quit"), QKeySequence("Ctrl+Q"), this, &QWidget::close);
}

void MainWindow::build_edit_menus() {
  QMenu& edit = *menuBar()->addMenu(tr("&Edit"));
  QAction* undo = document_.undo_stack().createUndoAction(this, tr("&Undo"));
  QAction* redo = document_.undo_stack().createRedoAction(this, tr("&Redo"));
  undo->setShortcut(QKeySequence::Undo);
  undo->setIcon(icon("undo"));
  undo->setObjectName("undo");
  redo->setShortcut(QKeySequence::Redo);
  redo->setIcon(icon("redo"));
  redo->setObjectName("redo");
  edit.addAction(undo);
  edit.addAction(redo);
  edit.addSeparator();
  canvas_actions_->fill_edit_menu(edit);
  canvas_actions_->fill_place_menu(*menuBar()->addMenu(tr("&Place")));
  canvas_actions_->fill_arrange_menu(*menuBar()->addMenu(tr("&Arrange")));
}

void MainWindow::build_run_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&Run"));
  controls_.fill_menu(menu);
  menu.addSeparator();
  charts_->freeze_action()->setShortcut(QKeySequence("F7"));
  menu.addAction(charts_->freeze_action());
}

void MainWindow::build_view_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&View"));
  workspace_->fill_perspectives(menu);
  menu.addSeparator();
  canvas_actions_->fill_view_menu(menu);
  menu.addSeparator();
  workspace_->fill_menu(*menu.addMenu(tr("&Panels")));
  appearance_.fill_menu(*menu.addMenu(tr("&Look")));
}

void MainWindow::build_help_menu() {
  QMenu& menu = *menuBar()->addMenu(tr("&Help"));
  manual_.fill_menu(menu);
  menu.addSeparator();
  menu.addAction(tr("&Keyboard shortcuts"), QKeySequence("Ctrl+F1"), this,
                 [this] { show_shortcuts(*this); });
  menu.addAction(tr("&About Trainyard"), QKeySequence("Shift+F1"), this,
                 [this] { show_about(*this); });
}

void MainWindow::build_toolbars() {
  const auto make = [this](const char* name, const QString& title) {
    QToolBar* bar = addToolBar(title);
    bar->setObjectName(name);
    bar->setMovable(false);
    return bar;
  };
  tools_ = make("tools", tr("Tools"));
  files_.fill_toolbar(*tools_);
  tools_->addSeparator();
  for (const char* name : {"undo", "redo"}) tools_->addAction(findChild<QAction*>(name));
  tools_->addSeparator();
  workspace_->fill_toolbar(*tools_);
  tools_->addSeparator();
  run_tools_ = make("run_tools", tr("Run"));
  controls_.fill_toolbar(*run_tools_);
  run_tools_->addAction(charts_->freeze_action());
  fit_toolbars();
}

// Shows the first `actions` optional actions as icons without text.
void MainWindow::hide_button_text(int actions) {
  QAction *run = &controls_.run_action(), *pause = &controls_.pause_action(),
          *step = &controls_.step_action(), *stop = &controls_.stop_action();
  for (QAction* action : {charts_->freeze_action(), step, stop, pause, run}) {
    auto* button = qobject_cast<QToolButton*>(run_tools_->widgetForAction(action));
    button->setToolButtonStyle(actions-- > 0 ? Qt::ToolButtonIconOnly
                                             : Qt::ToolButtonTextBesideIcon);
    button->setMinimumWidth(0);
  }
  for (const QToolBar* bar : {tools_, run_tools_})
    bar->layout()->invalidate();  // a hidden bar keeps its old size
  auto* steady = qobject_cast<QToolButton*>(
      run_tools_->widgetForAction(pause));  // its text changes, and its neighbors must not move
  if (steady->toolButtonStyle() == Qt::ToolButtonIconOnly) return;
  const auto words = [&](const QString& text) {
    return steady->fontMetrics().horizontalAdvance(text);
  };
  steady->setMinimumWidth(
      steady->sizeHint().width() +
      std::max(0, words(tr("Resume training")) - words(QString(pause->text()).remove('&'))));
}

// With a font that is large for the window, there is no room for a chart; while a run is displayed,
// the charts get the room.
void MainWindow::fit() {
  if (!run_tools_) return;
  if (workspace_->fit() && runs_.current())
    QMetaObject::invokeMethod(workspace_, &Workspace::show_charts, Qt::QueuedConnection);
  fit_toolbars();
}

// Fits the toolbars into one line if possible, with text where it fits; controls of a run must
// never be in the overflow menu.
void MainWindow::fit_toolbars() {
  if (!run_tools_) return;
  const int size = Theme::instance().pixels(20);
  for (QToolBar* bar : {tools_, run_tools_}) bar->setIconSize({size, size});
  constexpr int kSpared[] = {0, 2, 4};
  bool two_lines = false, fits = false;
  for (const bool two : {false, true})
    for (const int spared : kSpared) {
      if (fits) break;
      hide_button_text(spared);
      const int first = tools_->sizeHint().width(), second = run_tools_->sizeHint().width();
      fits = (two ? std::max(first, second) : first + second) <= width();
      two_lines = two;
    }
  if (!fits) hide_button_text(5);
  if (toolBarBreak(run_tools_) == two_lines) return;
  if (two_lines) insertToolBarBreak(run_tools_);
  else removeToolBarBreak(run_tools_);
}

void MainWindow::connect_document() {
  connect(&document_, &Document::file_changed, this, &MainWindow::update_title);
  connect(&document_, &Document::changed, this, &MainWindow::update_title);
  connect(&document_, &Document::changed, this, [this] { as_drawn_.reset(); });
  for (const auto signal : {&Document::changed, &Document::problems_changed})
    connect(&document_, signal, errors_, &Banner::look_again);
  connect(&document_, &Document::judged, this, &MainWindow::start_wanted_run);
  connect(&files_, &FileActions::failed, this, &MainWindow::show_problems);
  connect(&files_, &FileActions::not_saved, this, &MainWindow::report_not_saved);
  connect(&files_, &FileActions::saved, errors_, &Banner::look_again);
  connect(&files_, &FileActions::opened, this, &MainWindow::document_opened);
  connect(&inspector_->cost(), &CostLine::memory_problems_known, problems_,
          &ProblemsPanel::set_room);
  connect(problems_, &ProblemsPanel::activated, this, &MainWindow::go_to);
  connect(problems_, &ProblemsPanel::count_changed, this, &MainWindow::show_problem_count);
  connect(canvas_, &TopologyView::message, this,
          [this](const QString& text) { statusBar()->showMessage(text, 5000); });
  connect(&autosave_, &Autosave::failed, this, [this](const QString& what) {
    errors_->show_text(Banner::Kind::warning,
                       tr("Autosave failed: unsaved work would be lost in a crash"), what);
  });
}

void MainWindow::connect_welcome() {
  leave_welcome_ =
      new QShortcut(QKeySequence(Qt::Key_Escape), this, [this] { show_welcome(false); });
  connect(workspace_, &Workspace::wanted, this, [this] { show_welcome(false); });
  connect(welcome_, &WelcomePage::open_requested, &files_, &FileActions::open);
  connect(welcome_, &WelcomePage::open_dialog_requested, &files_, &FileActions::open_by_dialog);
  connect(welcome_, &WelcomePage::new_requested, &files_, &FileActions::new_document);
  connect(welcome_, &WelcomePage::run_requested, this,
          [this](const experiment::Experiment& experiment, const QString& file) {
            if (file.isEmpty() ? files_.open_as_new(experiment) : files_.open(file)) start_run();
          });
}

void MainWindow::connect_runs() {
  live_.setInterval(kLiveMilliseconds);
  connect(&live_, &QTimer::timeout, this, &MainWindow::show_live_state);
  connect(&controls_, &RunControls::run_requested, this, &MainWindow::start_run);
  connect(&runs_, &RunSession::current_changed, this, &MainWindow::run_changed);
  connect(&runs_, &RunSession::shown_changed, this, [this] { charts_->set_runs(runs_.shown()); });
  connect(&runs_, &RunSession::live_changed, this, &MainWindow::update_run_controls);
  connect(&runs_, &RunSession::updated, this, &MainWindow::run_updated);
  connect(&runs_, &RunSession::ended, this, &MainWindow::run_ended);
  connect(&runs_, &RunSession::trouble, this, &MainWindow::run_in_trouble);
  connect(charts_, &RunCharts::frozen_changed, timeline_, &TimelinePanel::set_frozen);
  connect(timeline_, &TimelinePanel::op_selected, this, &MainWindow::show_in_plan);
  connect(timeline_, &TimelinePanel::drawn_op_selected, this,
          [this](int rank, const QString& program, const QString& token, bool raise) {
            plan_->show_op(rank, program, token);
            if (raise) workspace_->raise("plan");
          });
  connect(staleness_, &StalenessPanel::gradient_wanted, this, &MainWindow::show_push);
  connect(charts_, &RunCharts::gradient_wanted, this, &MainWindow::show_push);
  connect(runs_panel_, &RunsPanel::ticked_changed, &runs_, &RunSession::set_ticked);
  connect(runs_panel_, &RunsPanel::open_requested, this, &MainWindow::open_run);
}

// Shows the stepped-through collective on the canvas while its panel is visible, and removes it
// when a run starts.
void MainWindow::connect_stepper() {
  connect(stepper_, &StepperPanel::transit_changed, &canvas_->topology_scene(),
          &TopologyScene::set_transit);
  connect(&workspace_->dock("stepper"), &QDockWidget::visibilityChanged, stepper_,
          &StepperPanel::set_in_front);
  connect(&runs_, &RunSession::live_changed, stepper_, &StepperPanel::leave_canvas);
}

// Connects the model panel to the canvas: layers are dragged to devices, and devices with the
// selected layers are highlighted.
void MainWindow::connect_model() {
  connect(model_, &ModelPanel::pointed, canvas_, &TopologyView::highlight_devices);
  connect(&workspace_->dock("model"), &QDockWidget::visibilityChanged, model_,
          &ModelPanel::set_seen);
  connect(model_, &ModelPanel::message, statusBar(),
          [this](const QString& text) { statusBar()->showMessage(text, 8000); });
  connect(canvas_, &TopologyView::layers_dropped, model_, &ModelPanel::move_to_device);
}

// Runs and sweeps exclude each other, because shared cores would falsify the figures of both.
void MainWindow::connect_scaling() {
  connect(scaling_, &ScalingPanel::open_requested, this, &MainWindow::open_run);
  connect(&runs_, &RunSession::live_changed, this,
          [this] { scaling_->set_training(live_names().join(", ")); });
  connect(scaling_, &ScalingPanel::sweeping_changed, errors_, &Banner::look_again);
  connect(scaling_, &ScalingPanel::sweeping_changed, this, [this] {
    if (!scaling_->sweeping()) QApplication::alert(this);
  });
}

}  // namespace trainyard::ui
